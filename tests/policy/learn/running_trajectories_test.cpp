// SPDX-License-Identifier: Apache-2.0
#include "policy/learn/running_trajectories.hpp"

#include <gtest/gtest.h>

#include "tests/policy/learn/tiny_world.hpp"

namespace warpsmith::policy {
namespace {

/// A masked token, then sampled ones.
Segment segment_of(TrajectoryId id, uint32_t number, size_t tokens) {
  Segment s{.trajectory = id, .number = number};
  for (size_t i = 0; i < tokens; ++i) {
    s.tokens.push_back(static_cast<int32_t>(i % 16));
    s.action_mask.push_back(i == 0 ? 0 : 1);
    s.log_probs.push_back(i == 0 ? 0.0F : -2.0F);
    s.versions.emplace_back();
  }
  return s;
}

TEST(RunningTrajectoriesTest, TheShortestPrefixIsReleasedNotTheNewest) {
  const ActorCritic networks{tiny_config(), tiny_weights(1), {.kind = CriticKind::shared}, 1.0};
  LearnerConfig config;
  RunningTrajectories unbounded{config};
  ASSERT_TRUE(unbounded.observe(segment_of(1, 0, 10), networks, {}));
  const int64_t of_short = unbounded.bytes();
  ASSERT_TRUE(unbounded.observe(segment_of(2, 0, 100), networks, {}));
  const int64_t of_both = unbounded.bytes();

  config.max_held_bytes = of_both - 1;
  RunningTrajectories bounded{config};
  ASSERT_TRUE(bounded.observe(segment_of(1, 0, 10), networks, {}));
  ASSERT_TRUE(bounded.observe(segment_of(2, 0, 100), networks, {}));
  EXPECT_EQ(bounded.released_prefixes(), 1);
  EXPECT_GT(bounded.bytes(), of_both - of_short) << "the long prefix must stay";
}

}  // namespace
}  // namespace warpsmith::policy
