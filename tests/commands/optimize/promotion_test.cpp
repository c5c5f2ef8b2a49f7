// SPDX-License-Identifier: Apache-2.0
#include "commands/optimize/promotion.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace warpsmith::commands {
namespace {

using testing::HasSubstr;

constexpr double margin = 0.05;

/// A correct kernel that is `speedup` times as fast as eager and as compiled, within 2 %.
ShapeAttempt timed(const std::string& shape, double speedup) {
  ShapeResult times;
  times.candidate_ms = 1 / speedup;
  times.eager_ms = times.compile_ms = 1;
  times.speedup_eager = times.speedup_compile = speedup;
  times.speedup_eager_interval = times.speedup_compile_interval =
      Interval{speedup * 0.98, speedup * 1.02};
  Verdict verdict;
  verdict.outcome = VerdictClass::passed;
  verdict.shapes = {times};
  return {shape, verdict};
}

Attempt attempt(const std::string& name, std::vector<ShapeAttempt> shapes) {
  return {name, AttemptRole::candidate, "key of " + name, "", std::move(shapes)};
}

CandidateDecision decision(const Attempt& candidate, const std::vector<Attempt>& users = {}) {
  return promote(users, {candidate}, margin).decisions.front();
}

TEST(Promotion, ACorrectAndFastKernelIsPromoted) {
  EXPECT_TRUE(decision(attempt("a", {timed("get_inputs", 2)})).promoted);
}

TEST(Promotion, TheLowEndMustReachTheMargin) {
  EXPECT_TRUE(decision(attempt("a", {timed("get_inputs", 1.08)})).promoted);
  const CandidateDecision near = decision(attempt("a", {timed("get_inputs", 1.06)}));
  EXPECT_FALSE(near.promoted);
  EXPECT_EQ(near.why,
            "not clearly faster against eager on get_inputs: 1.039 to 1.081 times as fast, needed "
            "1.050");
}

TEST(Promotion, ASlowKernelIsNamedSo) {
  EXPECT_THAT(decision(attempt("a", {timed("get_inputs", 0.5)})).why,
              HasSubstr("slower against eager on get_inputs"));
}

TEST(Promotion, AWrongKernelIsNotPromoted) {
  ShapeAttempt wrong = timed("get_inputs", 9);
  wrong.verdict.outcome = VerdictClass::wrong;
  EXPECT_EQ(decision(attempt("a", {wrong})).why, "not correct on get_inputs: wrong");
}

TEST(Promotion, OneSlowShapeIsEnoughToRefuse) {
  const CandidateDecision one =
      decision(attempt("a", {timed("get_inputs", 4), timed("get_ragged_inputs", 0.9)}));
  EXPECT_FALSE(one.promoted);
  EXPECT_THAT(one.why, HasSubstr("get_ragged_inputs"));
}

TEST(Promotion, AUserKernelIsAnIncumbentOnItsShape) {
  const Attempt users = attempt("mine", {timed("get_inputs", 3)});
  EXPECT_FALSE(decision(attempt("a", {timed("get_inputs", 2)}), {users}).promoted);
  EXPECT_FALSE(decision(attempt("a", {timed("get_inputs", 3.1)}), {users}).promoted);
  const CandidateDecision better = decision(attempt("a", {timed("get_inputs", 4)}), {users});
  EXPECT_TRUE(better.promoted);
  const Comparison& beside = better.comparisons.back();
  EXPECT_EQ(beside.incumbent, "mine");
  EXPECT_NEAR(beside.speedup, 4.0 / 3, 1e-12);
  EXPECT_NEAR(beside.interval->low, 4 * 0.98 / (3 * 1.02), 1e-12);
  EXPECT_NEAR(beside.interval->high, 4 * 1.02 / (3 * 0.98), 1e-12);
}

TEST(Promotion, AFurtherBaselineIsAnIncumbentOnlyIfItWasMeasured) {
  ShapeAttempt shape = timed("get_inputs", 2);
  FurtherResult missing;
  missing.name = "max-autotune";
  missing.reason = "took too long";
  shape.verdict.shapes[0].further = {missing};
  const Promotion without = promote({}, {attempt("a", {shape}), attempt("b", {shape})}, margin);
  EXPECT_TRUE(without.decisions[0].promoted);
  EXPECT_EQ(without.decisions[0].why,
            "correct and faster than every measured incumbent on every declared shape");
  EXPECT_EQ(unmeasured_incumbents(without),
            std::vector<std::string>{"max-autotune on get_inputs: took too long"});
  FurtherResult graph;
  graph.name = "cuda-graph";
  graph.ms = 0.4;
  graph.speedup = 0.8;
  graph.speedup_interval = Interval{0.79, 0.81};
  shape.verdict.shapes[0].further.push_back(graph);
  EXPECT_THAT(decision(attempt("a", {shape})).why, HasSubstr("slower against cuda-graph"));
}

TEST(Promotion, WithoutAnIntervalNothingIsProved) {
  ShapeAttempt shape = timed("get_inputs", 5);
  shape.verdict.shapes[0].speedup_eager_interval.reset();
  EXPECT_THAT(decision(attempt("a", {shape})).why, HasSubstr("no interval was measured"));
  shape.verdict.shapes[0].candidate_ms.reset();
  EXPECT_EQ(decision(attempt("a", {shape})).why, "not timed on get_inputs");
  EXPECT_EQ(decision(attempt("a", {})).why, "not judged");
}

TEST(Promotion, TheFastestOfSeveralWins) {
  const Promotion all =
      promote({},
              {attempt("a", {timed("get_inputs", 2)}), attempt("b", {timed("get_inputs", 3)}),
               attempt("c", {timed("get_inputs", 0.5)})},
              margin);
  EXPECT_EQ(all.winner, 1U);
  EXPECT_TRUE(all.decisions[0].promoted);
  EXPECT_FALSE(promote({}, {}, margin).winner);
}

TEST(Promotion, APassOnlyByPaperNumericsProvesTooLittle) {
  ShapeAttempt shape = timed("get_inputs", 3);
  shape.verdict.trust = TrustClass::paper;
  shape.verdict.weakness = "zeros";
  EXPECT_EQ(decision(attempt("a", {shape})).why, "proves too little on get_inputs: passed");
}

}  // namespace
}  // namespace warpsmith::commands
