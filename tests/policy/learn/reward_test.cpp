// SPDX-License-Identifier: Apache-2.0
#include "policy/learn/reward.hpp"

#include <gtest/gtest.h>

namespace warpsmith::policy {
namespace {

Verdict passed(double eager_low, double compile_low) {
  Verdict verdict;
  verdict.outcome = VerdictClass::passed;
  ShapeResult shape;
  shape.speedup_eager_interval = Interval{eager_low, eager_low + 1};
  shape.speedup_compile_interval = Interval{compile_low, compile_low + 1};
  verdict.shapes.push_back(shape);
  return verdict;
}

TEST(RewardTest, MilestonesFollowTheLowerBounds) {
  EXPECT_EQ(reward_of(passed(1.04, 2.0), RewardRule::milestone), 1.0);
  EXPECT_EQ(reward_of(passed(1.06, 1.04), RewardRule::milestone), 2.0);
  EXPECT_EQ(reward_of(passed(1.06, 1.06), RewardRule::milestone), 3.0);
}

TEST(RewardTest, EveryOtherVerdictIsRejected) {
  for (size_t i = 1; i < enum_names<VerdictClass>.size(); ++i) {
    Verdict verdict = passed(9, 9);
    verdict.outcome = static_cast<VerdictClass>(i);
    for (const auto rule : {RewardRule::milestone, RewardRule::speedup, RewardRule::log_speedup}) {
      EXPECT_EQ(reward_of(verdict, rule), -1.0) << to_string(verdict.outcome);
    }
  }
}

TEST(RewardTest, AWeakPassEarnsOnlyWhatStrictConfirms) {
  Verdict verdict = passed(9, 9);
  verdict.trust = TrustClass::paper;
  verdict.strict = StrictResult{.why = "wrong: set 1 (wide)"};
  EXPECT_EQ(reward_of(verdict, RewardRule::milestone), 3.0);
  verdict.weakness = "zeros (0.3 of the bound)";
  EXPECT_EQ(reward_of(verdict, RewardRule::milestone), -1.0);
  verdict.strict->passed = true;
  EXPECT_EQ(reward_of(verdict, RewardRule::milestone), 3.0);
  verdict.strict.reset();
  EXPECT_EQ(reward_of(verdict, RewardRule::milestone), -1.0);
}

TEST(RewardTest, AStrictPassOfAnInsensitiveTaskEarnsItsReward) {
  Verdict verdict = passed(9, 9);
  verdict.weakness = "zeros (0.3 of the bound)";
  EXPECT_EQ(reward_of(verdict, RewardRule::milestone), 3.0);
}

TEST(RewardTest, SlowButCorrectEarnsMoreThanWrong) {
  Verdict wrong = passed(9, 9);
  wrong.outcome = VerdictClass::wrong;
  Verdict unmeasured = passed(3, 3);
  unmeasured.shapes[0].speedup_eager_interval.reset();
  for (const auto rule : {RewardRule::milestone, RewardRule::speedup, RewardRule::log_speedup}) {
    EXPECT_GT(reward_of(unmeasured, rule), reward_of(wrong, rule));
    double slower = reward_of(wrong, rule);
    for (const double low : {0.0, 1e-9, 0.1, 0.36, 0.5, 0.99, 1.0, 1.01, 2.0, 50.0}) {
      const double reward = reward_of(passed(low, low), rule);
      EXPECT_GT(reward, reward_of(wrong, rule)) << low;
      EXPECT_GE(reward, slower) << low;
      slower = reward;
    }
  }
}

TEST(RewardTest, TheSlowestShapeCounts) {
  Verdict verdict = passed(3, 3);
  verdict.shapes.push_back(passed(1.0, 1.0).shapes[0]);
  EXPECT_EQ(reward_of(verdict, RewardRule::milestone), 1.0);
}

TEST(RewardTest, UnmeasuredShapesEarnNothing) {
  Verdict verdict = passed(3, 3);
  verdict.shapes[0].speedup_eager_interval.reset();
  EXPECT_EQ(reward_of(verdict, RewardRule::milestone), 1.0);
}

TEST(RewardTest, HiddenShapesAffectTheVerdictOnly) {
  Verdict verdict = passed(2.0, 2.0);
  verdict.shapes.push_back({.hidden = true});
  EXPECT_EQ(reward_of(verdict, RewardRule::milestone), 3.0);
  EXPECT_EQ(reward_of(verdict, RewardRule::speedup),
            reward_of(passed(2.0, 2.0), RewardRule::speedup));
  verdict.shapes.erase(verdict.shapes.begin());
  EXPECT_EQ(reward_of(verdict, RewardRule::milestone), 1.0) << "nothing was timed";
}

}  // namespace
}  // namespace warpsmith::policy
