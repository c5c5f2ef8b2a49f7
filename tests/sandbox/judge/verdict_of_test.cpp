// SPDX-License-Identifier: Apache-2.0
#include "sandbox/judge/decision.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace warpsmith::sandbox {
namespace {

TaskFacts facts() {
  TaskFacts facts{.bytes_moved = 4e6, .flops = 1e6, .floor_ms = 0.01};
  facts.signature.dims = {512, 256};
  facts.signature.dim_names = {"d0", "d1"};
  return facts;
}

Measurements five_good_sets() {
  Measurements measured;
  for (const Distribution d : verified_distributions) {
    measured.sets.push_back({.distribution = d, .errors = {.worst = 0.03, .elements = 10}});
  }
  return measured;
}

Decision decided(const Measurements& measured) {
  RandomStream random(1, "test");
  return decide(measured, facts(), 5, random);
}

Timings timings(double candidate, int blocks = 8) {
  Timings made;
  for (int i = 0; i < blocks; ++i) {
    made.blocks.push_back({candidate, 0.62, 0.40, candidate});
  }
  return made;
}

TEST(VerdictOfTest, PassesFiveGoodSets) {
  const Decision decision = decided(five_good_sets());
  EXPECT_EQ(decision.outcome, VerdictClass::passed);
  EXPECT_EQ(decision.feedback, "passed: 5 of 5 sets, worst error 0.03 of the bound");
  EXPECT_EQ(decision.shape.shape, "d0=512 d1=256");
  EXPECT_FALSE(decision.shape.candidate_ms);
}

TEST(VerdictOfTest, ReportsTheResultOfStrictForAPassByPaper) {
  Measurements measured = five_good_sets();
  EXPECT_FALSE(strict_result(measured).passed);
  measured.strict_sets = measured.sets;
  EXPECT_TRUE(strict_result(measured).passed);
  measured.strict_sets[2].errors = {.worst = 41.2, .wrong = 3, .elements = 10};
  EXPECT_EQ(strict_result(measured).why, "wrong: set 3 (wide): error 41.2 times the bound");
  EXPECT_EQ(decided(measured).outcome, VerdictClass::passed);
}

TEST(VerdictOfTest, NamesTheFirstWrongSetWithStatisticsOnly) {
  Measurements measured = five_good_sets();
  measured.sets[1].distribution = Distribution::sparse;
  measured.sets[1].errors = {.worst = 41.2, .wrong = 3, .elements = 10};
  measured.sets[3].errors = {.worst = 500, .wrong = 3, .elements = 10};
  const Decision decision = decided(measured);
  EXPECT_EQ(decision.outcome, VerdictClass::wrong);
  EXPECT_EQ(decision.feedback, "wrong: set 2 (sparse): error 41.2 times the bound");
}

WrongReport report() {
  return {.element = "y[3, 0]",
          .wrong = 3,
          .elements = 10,
          .cause = {"all are off by one constant factor", 0.5},
          .got = 123.25,
          .expected = 246.5};
}

TEST(VerdictOfTest, FeedbackHasThePlaceTheCountAndTheLikelyCauseButNoValue) {
  Measurements measured = five_good_sets();
  measured.sets[1].errors = {.worst = 41.2, .wrong = 3, .elements = 10};
  measured.sets[1].report = report();
  EXPECT_EQ(
      decided(measured).feedback,
      "wrong: set 2 (shifted): error 41.2 times the bound; 3 of 10 elements differ, the first "
      "is y[3, 0]; likely: all are off by one constant factor");
  measured.sets[1].report->nonfinite.unwritten = 2;
  EXPECT_THAT(decided(measured).feedback,
              testing::StartsWith("wrong: set 2 (shifted): 2 not written, error 41.2 times "));
}

TEST(VerdictOfTest, NonfiniteSaysWhetherElementsWereWrittenAndWhatTheyAre) {
  Measurements measured = five_good_sets();
  measured.sets[1].errors = {.worst = 0.1, .wrong = 3, .nonfinite = 3, .elements = 10};
  measured.sets[1].report = report();
  measured.sets[1].report->cause = {};
  measured.sets[1].report->nonfinite = {.unwritten = 1, .not_a_number = 1, .infinite = 1};
  EXPECT_EQ(
      decided(measured).feedback,
      "nonfinite: set 2 (shifted): 1 not written, 1 not a number, 1 wrongly infinite; 3 of 10 "
      "elements differ, the first is y[3, 0]");
}

TEST(VerdictOfTest, EveryFailureHasItsClass) {
  const auto with = [](auto change) {
    Measurements measured = five_good_sets();
    change(measured.sets[2]);
    return decided(measured).outcome;
  };
  EXPECT_EQ(with([](VerifiedSet& s) { s.fault = Fault{VerdictClass::timeout, "slow"}; }),
            VerdictClass::timeout);
  EXPECT_EQ(with([](VerifiedSet& s) { s.inputs_changed = true; }), VerdictClass::input_mutated);
  EXPECT_EQ(with([](VerifiedSet& s) { s.guards_changed = true; }), VerdictClass::oob_write);
  EXPECT_EQ(with([](VerifiedSet& s) { s.errors.nonfinite = s.errors.wrong = 2; }),
            VerdictClass::nonfinite);
}

TEST(VerdictOfTest, MissingSetsNeverPass) {
  Measurements measured = five_good_sets();
  measured.sets.pop_back();
  EXPECT_NE(decided(measured).outcome, VerdictClass::passed);
  EXPECT_NE(decided({}).outcome, VerdictClass::passed);
}

TEST(VerdictOfTest, ReportsTimesAndRates) {
  Measurements measured = five_good_sets();
  measured.timings = timings(0.31);
  const Decision decision = decided(measured);
  EXPECT_EQ(decision.feedback,
            "passed: candidate 0.31 ms, eager 0.62 ms, compile 0.40 ms; 12.9 GB/s, 3.2 GFLOP/s");
  EXPECT_DOUBLE_EQ(*decision.shape.speedup_eager, 2);
  EXPECT_DOUBLE_EQ(decision.shape.speedup_compile_interval->low, 0.40 / 0.31);
}

TEST(VerdictOfTest, ABaselineSlowedByTheCandidateCountsAsUndisturbed) {
  Measurements measured = five_good_sets();
  measured.timings = timings(0.31);
  measured.timings->undisturbed = {.eager_ms = 0.31, .compile_ms = 0.40, .slack = 0.05};
  const Decision decision = decided(measured);
  EXPECT_NEAR(*decision.shape.speedup_eager, 1.05, 1e-9);
  EXPECT_NEAR(*decision.shape.eager_ms, 0.3255, 1e-9);
  EXPECT_NEAR(*decision.shape.speedup_compile, 0.40 / 0.31, 1e-9) << "within the slack";
}

TEST(VerdictOfTest, TimesOfAGpuHaveFourDecimals) {
  Measurements measured = five_good_sets();
  measured.timings = timings(0.31);
  measured.timings->on_device = true;
  EXPECT_THAT(
      decided(measured).feedback,
      testing::StartsWith("passed: candidate 0.3100 ms, eager 0.6200 ms, compile 0.4000 ms; "));
}

/// max-autotune at 0.36 ms, and no graph.
Timings with_further(double candidate) {
  Timings made = timings(candidate);
  made.further = {{.which = Baseline::tuned},
                  {.which = Baseline::graphed, .reason = "it cannot be captured"}};
  for (TimedBlock& block : made.blocks) block.further_ms[Baseline::tuned] = 0.36;
  return made;
}

TEST(VerdictOfTest, FurtherBaselinesHaveTheirTimesSpeedupsAndIntervals) {
  Measurements measured = five_good_sets();
  measured.timings = with_further(0.30);
  measured.timings->further[0].scatter = 0.1;
  const Decision decision = decided(measured);
  ASSERT_EQ(decision.outcome, VerdictClass::passed);
  EXPECT_THAT(decision.feedback, testing::EndsWith("\nother baselines: max-autotune 0.36 ms"));
  ASSERT_EQ(decision.shape.further.size(), 2U);
  const FurtherResult& tuned = decision.shape.further[0];
  EXPECT_EQ(tuned.name, "max-autotune");
  EXPECT_EQ(tuned.reason, "");
  EXPECT_DOUBLE_EQ(*tuned.ms, 0.36);
  EXPECT_DOUBLE_EQ(*tuned.speedup, 1.2);
  EXPECT_NEAR(tuned.speedup_interval->low, 1.2 * std::exp(-0.196), 1e-9);
  EXPECT_NEAR(tuned.speedup_interval->high, 1.2 * std::exp(0.196), 1e-9);
}

TEST(VerdictOfTest, AMissingFurtherBaselineHasItsReasonAndTheVerdictIsKept) {
  Measurements measured = five_good_sets();
  measured.timings = with_further(0.30);
  const Decision decision = decided(measured);
  const FurtherResult& graphed = decision.shape.further.at(1);
  EXPECT_EQ(graphed.name, "cuda-graph");
  EXPECT_EQ(graphed.reason, "it cannot be captured");
  EXPECT_FALSE(graphed.ms || graphed.speedup || graphed.speedup_interval);
  EXPECT_EQ(decision.outcome, VerdictClass::passed);
}

TEST(VerdictOfTest, FurtherBaselinesDecideNothing) {
  Measurements measured = five_good_sets();
  measured.timings = with_further(0.31);
  Decision without = decided(measured);
  for (size_t i = 0; i < 8; i += 2) {
    measured.timings->blocks[i].further_ms[Baseline::tuned] = 5;
  }
  const Decision wide = decided(measured);
  EXPECT_EQ(wide.outcome, VerdictClass::passed);
  EXPECT_EQ(wide.shape.speedup_eager_interval->low, without.shape.speedup_eager_interval->low);
  EXPECT_EQ(wide.shape.speedup_compile_interval->low, without.shape.speedup_compile_interval->low);
}

TEST(VerdictOfTest, TimesBelowTheFloorAreImpossible) {
  Measurements measured = five_good_sets();
  measured.timings = timings(0.005);
  EXPECT_EQ(decided(measured).outcome, VerdictClass::too_fast);
  measured.timings = timings(-0.001);
  EXPECT_EQ(decided(measured).outcome, VerdictClass::too_fast);
}

TEST(VerdictOfTest, TimesFarBelowZeroSayThatTheMachineWasDisturbed) {
  Measurements measured = five_good_sets();
  measured.timings = timings(-1.5);
  const Decision decision = decided(measured);
  EXPECT_EQ(decision.outcome, VerdictClass::unstable_timing);
  EXPECT_FALSE(is_candidate_unstable(decision)) << "it never becomes a pass";
}

/// Empty calls differ by more than such a call takes, so a short time does not mean that nothing
/// ran.
TEST(VerdictOfTest, TimesWithinTheClocksGrainAreNeitherImpossibleNorUnboundedSpeedups) {
  Measurements measured = five_good_sets();
  measured.timings = timings(-0.002);
  measured.timings->grain_ms = 0.02;
  const Decision decision = decided(measured);
  EXPECT_EQ(decision.outcome, VerdictClass::passed);
  EXPECT_EQ(decision.shape.candidate_ms, 0.02);
  EXPECT_NEAR(*decision.shape.speedup_eager, 31, 0.1);
  measured.timings->grain_ms = 0.5;
  EXPECT_EQ(decided(measured).feedback,
            "unstable_timing: torch.compile took no longer than an empty call");
}

TEST(VerdictOfTest, TimedOutputsMustBeRight) {
  Measurements measured = five_good_sets();
  measured.timings = timings(0.31);
  measured.timings->errors = {.worst = 12, .wrong = 1, .elements = 100};
  EXPECT_EQ(decided(measured).outcome, VerdictClass::wrong);
  measured.timings = timings(0.31);
  measured.timings->fault = Fault{VerdictClass::device_fault, "died"};
  EXPECT_EQ(decided(measured).feedback, "crashed: timed call: died") << "a CPU has no device";
  EXPECT_EQ(decided(measured).outcome, VerdictClass::device_fault);
  measured.on_device = true;
  EXPECT_EQ(decided(measured).feedback, "device_fault: timed call: died");
}

TEST(VerdictOfTest, ABaselineWithoutMeasurableTimeIsUnstable) {
  Measurements measured = five_good_sets();
  measured.timings = timings(0.31);
  for (TimedBlock& block : measured.timings->blocks) block.compile_ms = -5;
  const Decision decision = decided(measured);
  EXPECT_EQ(decision.outcome, VerdictClass::unstable_timing);
  EXPECT_EQ(decision.feedback, "unstable_timing: torch.compile took no longer than an empty call");
}

TEST(VerdictOfTest, AnInconclusiveIntervalIsUnstable) {
  Measurements measured = five_good_sets();
  measured.timings = timings(0.31);
  for (size_t i = 0; i < 8; i += 2) measured.timings->blocks[i].candidate_ms = 2;
  for (TimedBlock& block : measured.timings->blocks) block.eager_ms = block.candidate_ms * 2;
  measured.timings->blocks[1].eager_ms = 9;
  measured.timings->blocks[3].eager_ms = 0.1;
  const Decision decision = decided(measured);
  EXPECT_EQ(decision.outcome, VerdictClass::unstable_timing);
  EXPECT_FALSE(is_candidate_unstable(decision)) << "eager's times differ as much";
}

TEST(VerdictOfTest, AnUnstableCandidateIsJudgedByTheLowEndOfItsInterval) {
  Measurements measured = five_good_sets();
  measured.timings = timings(0.31);
  for (size_t i = 0; i < 8; i += 2) measured.timings->blocks[i].candidate_ms = 2;
  const Decision decision = decided(measured);
  ASSERT_TRUE(is_candidate_unstable(decision));
  const Decision stays = accept_unstable(decision);
  EXPECT_EQ(stays.outcome, VerdictClass::passed);
  EXPECT_EQ(stays.feedback.substr(0, 17), "passed: candidate");
  EXPECT_LT(stays.shape.speedup_eager_interval->low, 0.62 / 0.31);
}

TEST(VerdictOfTest, AWideIntervalFarBelowOneShowsASlowerCandidate) {
  Measurements measured = five_good_sets();
  measured.timings = timings(4000, 2);
  measured.timings->blocks[0].eager_ms *= 1.5;
  const Decision decision = decided(measured);
  EXPECT_EQ(decision.outcome, VerdictClass::passed) << decision.feedback;
  EXPECT_LT(decision.shape.speedup_eager_interval->high, far_slower);
}

TEST(VerdictOfTest, TheLikelySpeedupIsTheUpperEndOverTheSlowerBaseline) {
  RandomStream random(1, "test");
  Timings made = timings(6.2, 2);
  EXPECT_NEAR(likely_speedup(made.blocks, random), 0.1, 1e-9);
  made.blocks[0].eager_ms *= 1.5;  // two blocks leave a wide interval
  EXPECT_GT(likely_speedup(made.blocks, random), far_slower);
}

}  // namespace
}  // namespace warpsmith::sandbox
