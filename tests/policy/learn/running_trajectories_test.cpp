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

class RunningTrajectoriesTest : public testing::Test {
 protected:
  /// A short and then a long trajectory.
  RunningTrajectories observed(const LearnerConfig& config) {
    RunningTrajectories running{config};
    EXPECT_TRUE(running.observe(segment_of(1, 0, 10), networks_, {}));
    EXPECT_TRUE(running.observe(segment_of(2, 0, 100), networks_, {}));
    return running;
  }
  /// Goes on with the short one.
  HeldTrajectory grown(RunningTrajectories running) {
    EXPECT_TRUE(running.observe(segment_of(1, 1, 10), networks_, {}));
    return running.take(1);
  }

  ActorCritic networks_{tiny_config(), tiny_weights(1), {.kind = CriticKind::shared}, 1.0};
};

TEST_F(RunningTrajectoriesTest, TheShortestPrefixIsReleasedNotTheNewest) {
  const int64_t of_both = observed({}).bytes();
  const RunningTrajectories bounded = observed({.max_held_bytes = of_both - 1});
  EXPECT_EQ(bounded.released_prefixes(), 1);
  EXPECT_GT(bounded.bytes(), of_both / 2) << "the long prefix must stay";
  EXPECT_EQ(bounded.host_bytes(), 0);
}

TEST_F(RunningTrajectoriesTest, APrefixMovesToHostMemoryAndGivesTheSameScores) {
  const HeldTrajectory expected = grown(observed({}));
  LearnerConfig config{.offload = {"kept_prefixes"}};
  config.max_held_bytes = observed({}).bytes() - 1;
  RunningTrajectories bounded = observed(config);
  EXPECT_EQ(bounded.offloaded_prefixes(), 1);
  EXPECT_EQ(bounded.released_prefixes(), 0);
  EXPECT_GT(bounded.host_bytes(), 0);
  const HeldTrajectory got = grown(std::move(bounded));
  EXPECT_EQ(got.scored, 20);
  EXPECT_EQ(got.proximal, expected.proximal);
  EXPECT_EQ(got.values, expected.values);
}

TEST_F(RunningTrajectoriesTest, HostMemoryIsBoundedToo) {
  LearnerConfig config{.offload = {"kept_prefixes"}, .max_offloaded_bytes = 0};
  config.max_held_bytes = observed({}).bytes() - 1;
  const RunningTrajectories bounded = observed(config);
  EXPECT_EQ(bounded.released_prefixes(), 1);
  EXPECT_EQ(bounded.host_bytes(), 0);
}

TEST_F(RunningTrajectoriesTest, OneThatIsTooLargeItselfIsLeftToItsFirstUse) {
  RunningTrajectories bounded = observed({.max_held_bytes = 1});
  EXPECT_EQ(bounded.released_prefixes(), 2);
  EXPECT_EQ(bounded.bytes(), 0);
  const HeldTrajectory got = grown(std::move(bounded));
  EXPECT_EQ(got.size(), 20);
  EXPECT_EQ(got.scored, 0) << "not in part: the first gradient scores whole trajectories";
}

}  // namespace
}  // namespace warpsmith::policy
