// SPDX-License-Identifier: Apache-2.0
#include "commands/bench/repetition.hpp"

#include <gtest/gtest.h>

#include <deque>

namespace warpsmith::commands {
namespace {

Verdict timed(double eager, Interval eager_ci, double compile, Interval compile_ci) {
  Verdict verdict{.outcome = VerdictClass::passed};
  verdict.shapes.push_back({.speedup_eager = eager,
                            .speedup_compile = compile,
                            .speedup_eager_interval = eager_ci,
                            .speedup_compile_interval = compile_ci});
  return verdict;
}

TEST(RepetitionTest, AnIntervalAroundAMilestoneStraddlesIt) {
  const VerdictSample across = sample_of(timed(1.06, {1.02, 1.10}, 1.0, {0.98, 1.02}));
  EXPECT_TRUE(across.straddles);
  EXPECT_EQ(across.milestone, 1);
  const VerdictSample beyond = sample_of(timed(2.0, {1.9, 2.1}, 1.5, {1.4, 1.6}));
  EXPECT_FALSE(beyond.straddles);
  EXPECT_EQ(beyond.milestone, 3);
  EXPECT_DOUBLE_EQ(beyond.speedup_compile, 1.5);
}

TEST(RepetitionTest, AWrongVerdictHasNoSpeedUp) {
  const VerdictSample wrong = sample_of(Verdict{.outcome = VerdictClass::wrong});
  EXPECT_EQ(wrong.milestone, -1);
  EXPECT_EQ(wrong.speedup_eager, 0);
}

TEST(RepetitionTest, OnlyAStraddledLowerMilestoneIsExplained) {
  const VerdictSample usual{.milestone = 2, .speedup_eager = 1.2, .speedup_compile = 1.0};
  const VerdictSample lower_straddling{.milestone = 1, .straddles = true};
  const VerdictSample lower{.milestone = 1};
  const VerdictSample higher{.milestone = 3, .straddles = true};
  Repetition repetition{{usual, usual, usual, lower_straddling}};
  EXPECT_EQ(repetition.unexplained(), 0);
  repetition.verdicts.push_back(lower);
  EXPECT_EQ(repetition.unexplained(), 1);
  repetition.verdicts.push_back(higher);
  EXPECT_EQ(repetition.unexplained(), 2);
  EXPECT_DOUBLE_EQ(repetition.median_speedup_eager(), 1.2);
}

TEST(RepetitionTest, TheBarLimitsTheMedianOnBothSides) {
  const auto meets = [](const std::vector<double>& speedups) {
    Repetition repetition;
    for (const double one : speedups) repetition.verdicts.push_back({.speedup_eager = one});
    return SpeedupBar{1, 0.03}.is_met(repetition);
  };
  EXPECT_TRUE(meets({0.99, 1.02, 1.5}));
  EXPECT_FALSE(meets({0.99, 1.04, 1.05}));
  EXPECT_FALSE(meets({0.9, 0.96, 1.0}));
  EXPECT_FALSE(meets({}));
}

/// Returns the given judgements in order.
class ScriptedBackend : public sandbox::Backend {
 public:
  explicit ScriptedBackend(std::deque<Judgement> answers) : answers_(std::move(answers)) {}
  Judgement evaluate(const sandbox::EvaluateRequest& /*request*/, Deadline /*deadline*/) override {
    Judgement answer = answers_.front();
    answers_.pop_front();
    return answer;
  }
  Result<TaskFacts> ingest(const Task& /*task*/, Deadline /*deadline*/) override {
    return fail(ErrorCode::unsupported, "not used here");
  }

 private:
  std::deque<Judgement> answers_;
};

TEST(RepetitionTest, EvaluationsSpoiltByNoiseAreRepeated) {
  const InfraFailure noise{InfraKind::noise, "unstable"};
  ScriptedBackend backend{{noise, Verdict{}, noise, noise, Verdict{}}};
  const auto repetition = repeat_verdict(backend, {}, {.times = 2});
  ASSERT_TRUE(repetition);
  EXPECT_EQ(repetition->verdicts.size(), 2U);
  EXPECT_EQ(repetition->retries, 3);
}

TEST(RepetitionTest, EndlessNoiseAndOtherFailuresEndIt) {
  const InfraFailure noise{InfraKind::noise, "unstable"};
  ScriptedBackend noisy{std::deque<Judgement>(max_noisy, noise)};
  EXPECT_EQ(repeat_verdict(noisy, {}, {.times = 1}).error().message, "infra_noise: unstable");
  ScriptedBackend lost{{InfraFailure{InfraKind::sandbox_lost, "gone"}}};
  EXPECT_EQ(repeat_verdict(lost, {}, {.times = 1}).error().message, "infra_sandbox_lost: gone");
}

TEST(RepetitionTest, AStopLeavesTheVerdictsSoFar) {
  ScriptedBackend backend{{Verdict{}, Verdict{}}};
  int calls = 0;
  const auto repetition =
      repeat_verdict(backend, {}, {.times = 20, .stop = [&] { return ++calls > 2; }});
  ASSERT_TRUE(repetition);
  EXPECT_EQ(repetition->verdicts.size(), 2U);
}

TEST(RepetitionTest, FailureCausedByAStopIsIgnored) {
  ScriptedBackend backend{{Verdict{}, InfraFailure{InfraKind::sandbox_lost, "ended"}}};
  int calls = 0;
  const auto repetition =
      repeat_verdict(backend, {}, {.times = 20, .stop = [&] { return ++calls > 2; }});
  ASSERT_TRUE(repetition) << repetition.error().message;
  EXPECT_EQ(repetition->verdicts.size(), 1U);
}

TEST(RepetitionTest, NoVerdictsMeansNothingUnexplained) {
  EXPECT_EQ(Repetition{}.unexplained(), 0);
  EXPECT_EQ(Repetition{}.median_speedup_eager(), 0);
}

}  // namespace
}  // namespace warpsmith::commands
