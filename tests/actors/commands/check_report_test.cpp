// SPDX-License-Identifier: Apache-2.0
#include "actors/commands/check_report.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace warpsmith::actors {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

Verdict measured() {
  Verdict verdict;
  verdict.outcome = VerdictClass::passed;
  verdict.contract = "cpu";
  verdict.trust = TrustClass::commit;
  verdict.submission_hash = "abc";
  verdict.feedback = "candidate 0.50 ms, eager 1.00 ms";
  verdict.jail = {{"network", "none"}, {"seccomp", "runner"}};
  ShapeResult fast, slow;
  fast.speedup_eager = 4;
  slow.candidate_ms = 0.5;
  slow.eager_ms = 1;
  slow.compile_ms = 0.75;
  slow.speedup_eager = 2;
  slow.speedup_eager_ci = Interval{1.9, 2.1};
  verdict.shapes = {fast, slow};
  return verdict;
}

TEST(CheckReportTest, TextHasVerdictFeedbackSpeedupTrustAndJail) {
  const std::string text = judgement_text(measured());
  EXPECT_THAT(text, HasSubstr("passed\n"));
  EXPECT_THAT(text, HasSubstr("candidate 0.50 ms, eager 1.00 ms\n"));
  EXPECT_THAT(text, HasSubstr("2.00x eager (95 % interval 1.90 to 2.10)\n"));
  EXPECT_THAT(text, HasSubstr("trust class commit, contract cpu\n"));
  EXPECT_THAT(text, HasSubstr("jail: network none, seccomp runner\n"));
}

TEST(CheckReportTest, TextLeavesOutWhatWasNotMeasured) {
  Verdict verdict = measured();
  verdict.outcome = VerdictClass::compile_error;
  verdict.shapes.clear();
  verdict.jail.clear();
  const std::string text = judgement_text(verdict);
  EXPECT_THAT(text, Not(HasSubstr(" eager (")));
  EXPECT_THAT(text, Not(HasSubstr("jail")));
}

TEST(CheckReportTest, TheClassIsSaidOnceAndEachLineIsIndented) {
  Verdict verdict = measured();
  verdict.feedback = "passed: candidate 0.50 ms";
  EXPECT_THAT(judgement_text(verdict), testing::StartsWith("passed\n  candidate 0.50 ms\n"));
  verdict.outcome = VerdictClass::compile_error;
  verdict.feedback = "compile_error: plan.toml:1:1: a\nplan.toml:2:1: b";
  EXPECT_THAT(judgement_text(verdict),
              testing::StartsWith("compile_error\n  plan.toml:1:1: a\n  plan.toml:2:1: b\n"));
}

TEST(CheckReportTest, WhatWasNotTimedHasNoReward) {
  Verdict verdict;
  verdict.outcome = VerdictClass::passed;
  verdict.contract = "cpu";
  verdict.feedback = "compiled";
  EXPECT_EQ(judgement_text(verdict, Request::compile), "passed\n  compiled\n  contract cpu\n");
  EXPECT_TRUE(json::parse(judgement_json(verdict, Request::compile))["reward"].is_null());
  EXPECT_FALSE(json::parse(judgement_json(verdict))["reward"].is_null());
}

TEST(CheckReportTest, AnExplanationStandsAlone) {
  Verdict verdict = measured();
  verdict.feedback = "extents d0 = 4\n";
  EXPECT_EQ(judgement_text(verdict, Request::explain), "extents d0 = 4\n");
  verdict.outcome = VerdictClass::compile_error;
  verdict.feedback = "compile_error: plan.toml:1:1: a";
  EXPECT_EQ(judgement_text(verdict, Request::explain), "compile_error\n  plan.toml:1:1: a\n");
}

TEST(CheckReportTest, JsonIsOfTheSlowestShapeAndHasEveryKey) {
  const json out = json::parse(judgement_json(measured()));
  for (const char* key :
       {"verdict", "contract", "trust", "correct", "reward", "candidate_ms", "eager_ms",
        "compile_ms", "speedup_eager", "speedup_compile", "seed_commitment", "jail", "evidence"}) {
    EXPECT_TRUE(out.contains(key)) << key;
  }
  EXPECT_EQ(out["speedup_eager"], 2.0);
  EXPECT_TRUE(out["speedup_compile"].is_null());
  EXPECT_TRUE(out["seed_commitment"].is_null());
}

TEST(CheckReportTest, AFailureHasTheSameKeysAndNoVerdictOfTheCandidate) {
  const Judgement failure = InfraFailure{InfraKind::sandbox_lost, "it is gone"};
  const json out = json::parse(judgement_json(failure));
  EXPECT_EQ(out["verdict"], "infra_sandbox_lost");
  EXPECT_EQ(out["feedback"], "it is gone");
  EXPECT_TRUE(out["correct"].is_null());
  EXPECT_TRUE(out["candidate_ms"].is_null());
  EXPECT_EQ(judgement_text(failure), "infra_sandbox_lost: it is gone\n");
}

TEST(CheckReportTest, BytesThatAreNoTextAreReplacedAndNotFatal) {
  Verdict verdict = measured();
  verdict.feedback = "kernel.cpp:1: stray \xff\xfe in program";
  const json out = json::parse(judgement_json(verdict));
  EXPECT_THAT(out["feedback"].get<std::string>(), HasSubstr("stray \xEF\xBF\xBD"));
  EXPECT_NO_THROW((void)judgement_json(InfraFailure{InfraKind::disk, "\x80"}));
}

TEST(CheckReportTest, HiddenShapesAreListedAndNotMistakenForTheTimedOne) {
  Verdict verdict = measured();
  verdict.shapes.push_back({.shape = "d0=301", .worst_error = 0.25, .hidden = true});
  const json out = json::parse(judgement_json(verdict));
  EXPECT_EQ(out["hidden_shapes"], json::parse(R"([{"shape": "d0=301", "worst_error": 0.25}])"));
  EXPECT_EQ(out["speedup_eager"], 2);
  EXPECT_EQ(json::parse(judgement_json(measured()))["hidden_shapes"], json::array());
}

TEST(CheckReportTest, NumericsPaperShowInTheTrustClass) {
  Verdict verdict = measured();
  verdict.trust = TrustClass::paper;
  EXPECT_THAT(judgement_text(verdict), HasSubstr("trust class paper"));
}

}  // namespace
}  // namespace warpsmith::actors
