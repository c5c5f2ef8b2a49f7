// SPDX-License-Identifier: Apache-2.0
#include "actors/rollout/outcome.hpp"

#include "tests/actors/rollout/rollout_fixture.hpp"

namespace warpsmith::actors {
namespace {

TEST(OutcomeTest, TheWorstShapeDeterminesTheSpeedup) {
  Verdict verdict = passed_verdict(3.0);
  verdict.shapes.push_back(passed_verdict(1.5).shapes[0]);
  const auto outcome = judged_outcome(verdict, {}, RewardRule::milestone);
  EXPECT_EQ(outcome.speedup_eager, verdict.shapes[1].speedup_eager_interval->low);
  verdict.shapes[0].speedup_compile_interval.reset();
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
  EXPECT_EQ(outcome.speedup_eager, verdict.shapes[0].speedup_eager_interval->low);
}

TEST(OutcomeTest, TheBestSubmissionIsCorrectAndTheFastest) {
  const auto judged = [](const char* hash, double speedup) {
    Verdict verdict = passed_verdict(speedup);
    verdict.submission_hash = hash;
    return verdict;
  };
  BestSubmission best = better_of({}, judged("slow", 1.5));
  best = better_of(best, judged("fast", 3));
  best = better_of(best, judged("slower", 1.2));
  Verdict wrong = judged("wrong", 9);
  wrong.outcome = VerdictClass::wrong;
  best = better_of(best, wrong);
  EXPECT_EQ(best.hash, "fast");
  EXPECT_NEAR(best.rank, 3.99, 1e-9);
}

}  // namespace
}  // namespace warpsmith::actors
