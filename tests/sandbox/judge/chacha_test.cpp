// SPDX-License-Identifier: Apache-2.0
#include "sandbox/judge/gpu/chacha.hpp"

#include <gtest/gtest.h>

#include <set>
#include <utility>

#include "tests/sandbox/judge/reference_stream.hpp"

namespace warpsmith::sandbox {
namespace {

StreamKey counted_key() {
  StreamKey key{};
  for (size_t i = 0; i < key.size(); ++i) key[i] = static_cast<uint8_t>(i);
  return key;
}

TEST(ChachaTest, MatchesTheBlockOfRfc8439) {
  // Section 2.3.2: counter 1, nonce 00:00:00:09:00:00:00:4a:00:00:00:00.
  const ChachaBlock block =
      chacha_block(chacha_key(counted_key()), 1 | (0x09000000ULL << 32U), 0x4A000000);
  const test::Words expected{0xE4E7F110, 0x15593BD1, 0x1FDD0F50, 0xC47120A3, 0xC7F4D1C7, 0x0368C033,
                             0x9AAA2204, 0x4E6CD4C3, 0x466482D2, 0x09AA9F07, 0x05D7C214, 0xA2028BD9,
                             0xD19C12B5, 0xB94E16DE, 0xE883D0CB, 0x4E3C50A2};
  for (size_t i = 0; i < 16; ++i) EXPECT_EQ(block.words[i], expected[i]) << i;
}

TEST(ChachaTest, EqualsOpenSslForEveryPartOfTheState) {
  for (const uint64_t counter : {0ULL, 1ULL, 0xFFFFFFFFULL, 0x0123456789ABCDEFULL}) {
    for (const uint64_t nonce : {0ULL, 7ULL, 0xFEDCBA9876543210ULL}) {
      const ChachaBlock ours = chacha_block(chacha_key(counted_key()), counter, nonce);
      const test::Words theirs = test::openssl_block(counted_key(), counter, nonce);
      for (size_t i = 0; i < 16; ++i) EXPECT_EQ(ours.words[i], theirs[i]);
    }
  }
}

TEST(ChachaTest, EveryElementOfATileHasItsOwnWord) {
  std::set<std::pair<uint64_t, uint32_t>> taken;
  for (uint64_t element = 0; element < 2 * tile_elements; ++element) {
    const test::WordPlace place = test::place_of_word(element);
    EXPECT_EQ(place.block / 32, element / tile_elements);
    EXPECT_LT(place.word, 16U);
    taken.emplace(place.block, place.word);
  }
  EXPECT_EQ(taken.size(), 2 * tile_elements);
}

TEST(ChachaTest, StreamsDoNotOverlap) {
  const uint64_t last_block = (1ULL << 40U) - 1;
  EXPECT_LT(stream_counter(0, 0, last_block), stream_counter(0, 1, 0));
  EXPECT_LT(stream_counter(0, huge_plane, last_block), stream_counter(1, 0, 0));
  EXPECT_LT(stream_counter(41, huge_plane, last_block), stream_counter(42, 0, 0));
}

}  // namespace
}  // namespace warpsmith::sandbox
