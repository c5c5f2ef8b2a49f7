// SPDX-License-Identifier: Apache-2.0
#include "policy/learn/step_cycle.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "tests/support/rapidcheck_seed.hpp"

namespace warpsmith::policy {
namespace {

TEST(StepCycleTest, CollectsThenRepeatsThenFinishes) {
  StepCycle cycle{{.trajectories = 4, .minibatches = 2, .epochs = 2}};
  EXPECT_EQ(cycle.room(), 2);
  cycle.add(1, 10);
  EXPECT_FALSE(cycle.update_due());
  cycle.add(1, 10);
  EXPECT_TRUE(cycle.update_due());
  cycle.updated();
  EXPECT_EQ(cycle.room(), 2);
  cycle.add(2, 20);
  cycle.updated();
  EXPECT_EQ(cycle.phase(), StepPhase::repeating);
  EXPECT_TRUE(cycle.is_last_epoch());
  EXPECT_EQ(cycle.end(), 2U);
  cycle.add(2, 20);
  EXPECT_TRUE(cycle.update_due());
  cycle.updated();
  EXPECT_EQ(cycle.cursor(), 2U);
  EXPECT_EQ(cycle.end(), 4U);
  cycle.add(2, 20);
  cycle.updated();
  EXPECT_EQ(cycle.phase(), StepPhase::finished);
}

TEST(StepCycleTest, TokenBudgetEndsAStepEarly) {
  StepCycle cycle{{.trajectories = 100, .tokens = 50}};
  cycle.add(1, 49);
  EXPECT_FALSE(cycle.update_due());
  cycle.add(1, 1);
  EXPECT_TRUE(cycle.update_due());
  cycle.updated();
  EXPECT_EQ(cycle.phase(), StepPhase::finished);
}

TEST(StepCycleTest, ClosingUsesWhatWasCollected) {
  StepCycle cycle{{.trajectories = 100, .minibatches = 4, .epochs = 2}};
  cycle.close();
  EXPECT_FALSE(cycle.update_due());  // nothing was collected
  cycle.add(3, 30);
  cycle.close();
  EXPECT_TRUE(cycle.update_due());
  cycle.updated();
  EXPECT_EQ(cycle.phase(), StepPhase::repeating);
  EXPECT_EQ(cycle.end(), 1U);  // three trajectories cannot fill four minibatches
}

TEST(StepCycleTest, EveryTrajectoryIsUsedOncePerEpochForAllSizes) {
  ASSERT_TRUE(rc::check([] {
    const StepConfig budget{.trajectories = *rc::gen::inRange(1, 20),
                            .tokens = *rc::gen::inRange(1, 400),
                            .minibatches = *rc::gen::inRange(1, 5),
                            .epochs = *rc::gen::inRange(1, 4)};
    StepCycle cycle{budget};
    int64_t used = 0;
    int64_t updates = 0;
    while (cycle.phase() != StepPhase::finished) {
      const bool collecting = cycle.phase() == StepPhase::collecting;
      const int64_t left =
          collecting ? cycle.room() : static_cast<int64_t>(cycle.end() - cycle.cursor());
      if (left > 0) {
        const int64_t pack = *rc::gen::inRange<int64_t>(1, left + 1);
        cycle.add(pack, pack * *rc::gen::inRange(1, 30));
        used += pack;
      }
      if (!cycle.update_due()) continue;
      cycle.updated();
      ++updates;
      RC_ASSERT(updates <= budget.minibatches * budget.epochs);
    }
    RC_ASSERT(used == cycle.collected() * budget.epochs);
  }));
}

TEST(PackSplitTest, TrajectoriesGoToTheRankWithTheFewestTokens) {
  PackSplit split{2, 100};
  const auto take = [&](int64_t tokens) -> int {
    const auto rank = split.rank_for(tokens);
    if (!rank) return -1;
    split.add(*rank, tokens);
    return static_cast<int>(*rank);
  };
  EXPECT_EQ(take(60), 0);
  EXPECT_EQ(take(200), 1) << "longer than a pack: a separate one";
  EXPECT_EQ(take(40), 0);
  EXPECT_EQ(take(1), -1) << "both are full";
}

}  // namespace
}  // namespace warpsmith::policy
