// SPDX-License-Identifier: Apache-2.0
#include <ATen/core/grad_mode.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "policy/learn/running_trajectories.hpp"
#include "runtime/random_stream.hpp"
#include "tests/policy/learn/tiny_world.hpp"

namespace warpsmith::policy {
namespace {

/// A trajectory in two segments; tests may change the weights between them.
class StreamingForwardTest : public testing::TestWithParam<CriticKind> {
 protected:
  StreamingForwardTest()
      : networks_(tiny_config(), tiny_weights(1), {.kind = GetParam(), .surprise = true}, 1.0),
        played_(TinyWorld{5}.play(
            {{}, std::make_shared<const ModelWeights>(networks_.actor().weights().clone())})) {
    const at::NoGradGuard no_grad;
    networks_.value_head().weight.fill_(0.1);
  }

  void change_weights() {
    const at::NoGradGuard no_grad;
    for (auto& [name, tensor] : networks_.actor().weights().parameters()) tensor.mul_(1.2);
    for (auto& [name, tensor] : networks_.value_head().parameters()) tensor.add_(0.1);
  }

  /// The largest difference between the second segment's scores and one whole forward pass.
  double error_of(bool change, bool refresh) {
    HeldTrajectory held;
    KeptPrefix prefix{networks_};
    EXPECT_TRUE(held.append(played_.segments[0]));
    prefix.extend(networks_, held, {}, refresh, critic_stream_);
    if (change) change_weights();
    EXPECT_TRUE(held.append(played_.segments[1]));
    prefix.extend(networks_, held, {.updates = change ? 1U : 0U}, refresh, critic_stream_);
    const at::NoGradGuard no_grad;
    const HeldTrajectory* pack = &held;
    const TokenEvaluation whole = networks_.evaluate({&pack, 1}, GradientScope::everything);
    double error = 0;
    const std::vector<int64_t> actions = action_positions(held);
    for (size_t i = 2; i < actions.size(); ++i) {
      const auto row = static_cast<int64_t>(i);
      const auto t = static_cast<size_t>(actions[i]);
      error = std::max(error, std::abs(held.proximal[t] - whole.log_prob[row].item<double>()));
      error = std::max(error, std::abs(held.values[t] - whole.value[row].item<double>()));
    }
    return error;
  }

  ActorCritic networks_;
  Trajectory played_;
  const SideStream critic_stream_{at::kCPU};
};

TEST_P(StreamingForwardTest, SegmentBySegmentEqualsWhole) {
  EXPECT_LT(error_of(/*change=*/false, /*refresh=*/false), 1e-5);
}

TEST_P(StreamingForwardTest, RefreshedPrefixIsExactAfterWeightsChanged) {
  EXPECT_LT(error_of(/*change=*/true, /*refresh=*/true), 1e-5);
}

TEST_P(StreamingForwardTest, KeptPrefixIsNotRecomputedWithoutRefresh) {
  EXPECT_GT(error_of(/*change=*/true, /*refresh=*/false), 1e-4);
}

INSTANTIATE_TEST_SUITE_P(Critics, StreamingForwardTest,
                         testing::Values(CriticKind::shared, CriticKind::separate));

using testing::ElementsAre;
using testing::IsEmpty;

TEST(PrefixBoundTest, EvictsNothingWhileThereIsRoom) {
  EXPECT_THAT(prefixes_to_evict({{1, 10, 60}, {2, 20, 40}}, 100, 2), IsEmpty());
  EXPECT_THAT(prefixes_to_evict({}, 0), IsEmpty());
}

TEST(PrefixBoundTest, EvictsTheShortestPrefixesFirstNotTheNewest) {
  EXPECT_THAT(prefixes_to_evict({{1, 30, 30}, {2, 10, 10}, {3, 20, 20}}, 35, 1), ElementsAre(2, 3));
  EXPECT_THAT(prefixes_to_evict({{1, 30, 30}, {2, 10, 10}, {3, 20, 20}}, 50, 3), ElementsAre(2));
}

TEST(PrefixBoundTest, EvictsNoPrefixWhoseMemoryIsNotNeeded) {
  // Evicting the short one is not enough; with the long one evicted, the short one may stay.
  EXPECT_THAT(prefixes_to_evict({{1, 10, 10}, {2, 80, 80}, {3, 5, 60}}, 75, 3), ElementsAre(2));
}

TEST(PrefixBoundTest, EvictsTheNeededPrefixOnlyIfItIsTooLargeItself) {
  EXPECT_THAT(prefixes_to_evict({{1, 5, 5}, {2, 90, 90}}, 90), ElementsAre(1));
  EXPECT_THAT(prefixes_to_evict({{1, 5, 5}, {2, 90, 90}}, 90, 1), ElementsAre(2));
  EXPECT_THAT(prefixes_to_evict({{1, 5, 5}, {2, 90, 90}}, 80, 2), ElementsAre(2));
}

TEST(PrefixBoundTest, RemainingPrefixesFitAndNoEvictionIsUnnecessary) {
  for (uint64_t seed = 0; seed < 2000; ++seed) {
    RandomStream random{seed, "prefix_bound"};
    std::vector<PrefixSize> kept;
    for (TrajectoryId id = 1; id <= 1 + random.below(6); ++id) {
      kept.push_back(
          {id, static_cast<int64_t>(random.below(50)), static_cast<int64_t>(random.below(50))});
    }
    const auto bound = static_cast<int64_t>(random.below(120));
    const auto ids = prefixes_to_evict(kept, bound, 1);
    const std::set<TrajectoryId> left(ids.begin(), ids.end());
    int64_t stays = 0;
    for (const PrefixSize& one : kept) stays += left.contains(one.id) ? 0 : one.bytes;
    ASSERT_LE(stays, bound) << seed;
    for (const PrefixSize& one : kept) {
      ASSERT_TRUE(!left.contains(one.id) || stays + one.bytes > bound) << seed;
    }
    ASSERT_TRUE(!left.contains(1) || kept[0].bytes > bound) << seed;
  }
}

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
  /// Continues with the short one.
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

TEST_F(RunningTrajectoriesTest, APrefixInHostMemoryYieldsTheSameScores) {
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

TEST_F(RunningTrajectoriesTest, HostMemoryIsAlsoBounded) {
  LearnerConfig config{.offload = {"kept_prefixes"}, .max_offloaded_bytes = 0};
  config.max_held_bytes = observed({}).bytes() - 1;
  const RunningTrajectories bounded = observed(config);
  EXPECT_EQ(bounded.released_prefixes(), 1);
  EXPECT_EQ(bounded.host_bytes(), 0);
}

TEST_F(RunningTrajectoriesTest, ATrajectoryTooLargeForTheBoundIsScoredAtItsFirstUse) {
  RunningTrajectories bounded = observed({.max_held_bytes = 1});
  EXPECT_EQ(bounded.released_prefixes(), 2);
  EXPECT_EQ(bounded.bytes(), 0);
  const HeldTrajectory got = grown(std::move(bounded));
  EXPECT_EQ(got.size(), 20);
  EXPECT_EQ(got.scored, 0) << "not in part: the first gradient scores whole trajectories";
}

}  // namespace

}  // namespace warpsmith::policy
