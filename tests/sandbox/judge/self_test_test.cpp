// SPDX-License-Identifier: Apache-2.0
#include "sandbox/judge/gpu/gpu_bench.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <vector>

#include "sandbox/judge/gpu/kernel_orders.hpp"
#include "tests/sandbox/judge/reference_stream.hpp"

namespace warpsmith::sandbox {
namespace {

/// The kernel's result, block by block.
std::vector<uint64_t> contents() {
  std::vector<uint64_t> words(self_test_elements / 2);
  std::vector<std::array<ChachaBlock, most_planes>> blocks(self_test_elements / 16);
  for (uint64_t b = 0; b < blocks.size(); ++b) {
    for (uint32_t p = 0; p < most_planes; ++p) {
      blocks[b][p] = chacha_block({}, stream_counter(0, p, b), 0);
    }
  }
  for (uint64_t i = 0; i < self_test_elements; ++i) {
    const test::WordPlace at = test::place_of_word(i);
    uint32_t drawn[most_planes];
    for (uint32_t p = 0; p < most_planes; ++p) drawn[p] = blocks[at.block][p].words[at.word];
    const float value = filled_value({}, Distribution::normal, drawn);
    words[i / 2] |= uint64_t{std::bit_cast<uint32_t>(value)} << (32 * (i % 2));
  }
  return words;
}

TEST(SelfTestTest, TheSumFollowsFromTheRulesOnACpu) {
  EXPECT_EQ(sum_of_self_test(contents()), self_test_sum)
      << std::hex << sum_of_self_test(contents());
}

TEST(SelfTestTest, OneWrongBitChangesTheSum) {
  std::vector<uint64_t> words = contents();
  for (const size_t at : {size_t{0}, words.size() / 2, words.size() - 1}) {
    words[at] ^= 1ULL << 63U;
    EXPECT_NE(sum_of_self_test(words), self_test_sum) << at;
    words[at] ^= 1ULL << 63U;
  }
}

}  // namespace
}  // namespace warpsmith::sandbox
