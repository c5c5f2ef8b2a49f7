// SPDX-License-Identifier: Apache-2.0
#include "runtime/random_stream.hpp"

#include <gtest/gtest.h>

namespace warpsmith {
namespace {

TEST(RandomStreamTest, PhiloxMatchesThePublishedKnownAnswers) {
  // Random123's kat_vectors, philox4x32 10 rounds.
  EXPECT_EQ(philox4x32({0, 0, 0, 0}, {0, 0}),
            (std::array<uint32_t, 4>{0x6627e8d5U, 0xe169c58dU, 0xbc57ac4cU, 0x9b00dbd8U}));
  EXPECT_EQ(philox4x32({~0U, ~0U, ~0U, ~0U}, {~0U, ~0U}),
            (std::array<uint32_t, 4>{0x408f276dU, 0x41c83b0eU, 0xa20bc7c6U, 0x6d5451fdU}));
}

TEST(RandomStreamTest, StreamsWithDifferentNamesOrIndicesDiffer) {
  EXPECT_NE(RandomStream(1, "rollout", 0).next_u64(), RandomStream(1, "rollout", 1).next_u64());
  EXPECT_NE(RandomStream(1, "rollout", 0).next_u64(), RandomStream(1, "generator", 0).next_u64());
  EXPECT_EQ(RandomStream(1, "rollout", 3).next_u64(), RandomStream(1, "rollout", 3).next_u64());
}

TEST(RandomStreamTest, SeekSkipsBlocksOfFourWords) {
  RandomStream a(5, "x");
  for (int i = 0; i < 8; ++i) (void)a();
  RandomStream b(5, "x");
  b.seek(2);
  EXPECT_EQ(a.next_u64(), b.next_u64());
}

TEST(RandomStreamTest, BelowReturnsNumbersBelowItsBound) {
  RandomStream stream(9, "below");
  for (int i = 0; i < 1000; ++i) EXPECT_LT(stream.below(7), 7U);
}

}  // namespace
}  // namespace warpsmith
