// SPDX-License-Identifier: Apache-2.0
#include "actors/rollout/outcome.hpp"

#include "tests/actors/rollout/rollout_fixture.hpp"

namespace warpsmith::actors {
namespace {

TEST(OutcomeTest, WorstShapeGivesTheSpeedup) {
  Verdict verdict = passed_verdict(3.0);
  verdict.shapes.push_back(passed_verdict(1.5).shapes[0]);
  const auto outcome = judged_outcome(verdict, {}, RewardRule::milestone);
  EXPECT_EQ(outcome.speedup_eager, verdict.shapes[1].speedup_eager_ci->low);
  verdict.shapes[0].speedup_compile_ci.reset();
  EXPECT_FALSE(judged_outcome(verdict, {}, RewardRule::milestone).speedup_compile);
}

TEST(OutcomeTest, OnlyACorrectSubmissionIsFaster) {
  Verdict verdict = passed_verdict(90.0);
  verdict.outcome = VerdictClass::too_fast;
  const auto outcome = judged_outcome(verdict, {}, RewardRule::milestone);
  EXPECT_FALSE(outcome.speedup_eager);
  EXPECT_FALSE(outcome.speedup_compile);
}

TEST(OutcomeTest, EqualSourcesHaveEqualHashes) {
  const auto hash = [](const FileSet& files) {
    return judged_outcome({}, files, RewardRule::milestone).source_hash;
  };
  EXPECT_EQ(hash({{"kernel.cpp", "a"}}), hash({{"kernel.cpp", "a"}}));
  EXPECT_NE(hash({{"kernel.cpp", "a"}}), hash({{"kernel.cpp", "b"}}));
  EXPECT_NE(hash({{"k", "ab"}}), hash({{"ka", "b"}}));
}

TEST(OutcomeTest, OnlyALimitIsPenalised) {
  EXPECT_EQ(empty_outcome(false, 0.5).reward, -1.0);
  EXPECT_EQ(empty_outcome(true, 0.5).reward, -1.5);
}

TEST(OutcomeTest, HiddenShapesHaveNoSpeedUp) {
  Verdict verdict = passed_verdict(1.5);
  verdict.shapes.push_back({.hidden = true});
  const Outcome outcome = judged_outcome(verdict, {}, RewardRule::milestone);
  EXPECT_EQ(outcome.speedup_eager, verdict.shapes[0].speedup_eager_ci->low);
}

}  // namespace
}  // namespace warpsmith::actors
