// SPDX-License-Identifier: Apache-2.0
#include "commands/check/check_report.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace warpsmith::commands {
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
  slow.speedup_eager_interval = Interval{1.9, 2.1};
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

TEST(CheckReportTest, TextOmitsFiguresThatWereNotMeasured) {
  Verdict verdict = measured();
  verdict.outcome = VerdictClass::compile_error;
  verdict.shapes.clear();
  verdict.jail.clear();
  const std::string text = judgement_text(verdict);
  EXPECT_THAT(text, Not(HasSubstr(" eager (")));
  EXPECT_THAT(text, Not(HasSubstr("jail")));
}

TEST(CheckReportTest, TheClassAppearsOnceAndEachLineIsIndented) {
  Verdict verdict = measured();
  verdict.feedback = "passed: candidate 0.50 ms";
  EXPECT_THAT(judgement_text(verdict), testing::StartsWith("passed\n  candidate 0.50 ms\n"));
  verdict.outcome = VerdictClass::compile_error;
  verdict.feedback = "compile_error: plan.toml:1:1: a\nplan.toml:2:1: b";
  EXPECT_THAT(judgement_text(verdict),
              testing::StartsWith("compile_error\n  plan.toml:1:1: a\n  plan.toml:2:1: b\n"));
}

TEST(CheckReportTest, UntimedJudgementsHaveNoReward) {
  Verdict verdict;
  verdict.outcome = VerdictClass::passed;
  verdict.contract = "cpu";
  verdict.feedback = "compiled";
  EXPECT_EQ(judgement_text(verdict, Request::compile), "compiled\n  contract cpu\n");
  const json compiled = json::parse(judgement_json(verdict, Request::compile));
  EXPECT_TRUE(compiled["reward"].is_null());
  EXPECT_TRUE(compiled["correct"].is_null()) << "nothing ran";
  EXPECT_TRUE(compiled["trust"].is_null()) << "nothing was judged";
  EXPECT_EQ(compiled["verdict"], "compiled");
  EXPECT_FALSE(json::parse(judgement_json(verdict))["reward"].is_null());
}

TEST(CheckReportTest, AnExplanationIsPrintedByItself) {
  Verdict verdict = measured();
  verdict.feedback = "extents d0 = 4\n";
  EXPECT_EQ(judgement_text(verdict, Request::explain), "extents d0 = 4\n");
  verdict.outcome = VerdictClass::compile_error;
  verdict.feedback = "compile_error: plan.toml:1:1: a";
  EXPECT_EQ(judgement_text(verdict, Request::explain), "compile_error\n  plan.toml:1:1: a\n");
}

TEST(CheckReportTest, JsonShowsTheSlowestShapeAndHasEveryKey) {
  const json out = json::parse(judgement_json(measured()));
  for (const char* key : {"verdict", "contract", "trust", "correct", "reward", "candidate_ms",
                          "eager_ms", "compile_ms", "speedup_eager", "speedup_compile", "jail",
                          "evidence", "further_baselines", "clocks"}) {
    EXPECT_TRUE(out.contains(key)) << key;
  }
  EXPECT_EQ(out["speedup_eager"], 2.0);
  EXPECT_TRUE(out["speedup_compile"].is_null());
  EXPECT_FALSE(out.contains("seed_commitment")) << "it would prove nothing next to the seed";
}

Verdict measured_on_a_gpu() {
  Verdict verdict = measured();
  verdict.shapes[1].further = {
      {.name = "max-autotune", .ms = 0.6, .speedup = 1.2, .speedup_interval = Interval{1.1, 1.3}},
      {.name = "cuda-graph", .reason = "it cannot be captured"}};
  verdict.evidence =
      R"({"timing": {"clocks": {"sm_mhz": [1980, 1950], "summary": {"lowest_sm_mhz": 1950,
        "median_sm_mhz": 1965, "reasons": {"gpu_idle": 1, "sw_power_cap": 2}, "readings": 9}}}})";
  return verdict;
}

TEST(CheckReportTest, FurtherBaselinesAreInTextAndJson) {
  const std::string text = judgement_text(measured_on_a_gpu());
  EXPECT_THAT(text, HasSubstr("  1.20x max-autotune (95 % interval 1.10 to 1.30)\n"
                              "  cuda-graph not measured: it cannot be captured\n"));
  const json further = json::parse(judgement_json(measured_on_a_gpu()))["further_baselines"];
  EXPECT_EQ(
      further["max-autotune"],
      (json{{"ms", 0.6}, {"speedup", 1.2}, {"speedup_interval", {1.1, 1.3}}, {"reason", nullptr}}));
  EXPECT_EQ(further["cuda-graph"]["reason"], "it cannot be captured");
  EXPECT_TRUE(further["cuda-graph"]["ms"].is_null());
  EXPECT_TRUE(json::parse(judgement_json(measured()))["further_baselines"].is_null());
}

TEST(CheckReportTest, ClocksAndTheirSlowdownsAreInTextAndJson) {
  EXPECT_THAT(judgement_text(measured_on_a_gpu()),
              HasSubstr("  SM clock 1965 MHz, lowest 1950, sw_power_cap in 2 of 9 readings\n"));
  const json out = json::parse(judgement_json(measured_on_a_gpu()));
  EXPECT_EQ(out["clocks"]["reasons"]["sw_power_cap"], 2);
  EXPECT_TRUE(json::parse(judgement_json(measured()))["clocks"].is_null());
}

TEST(CheckReportTest, UnreadClocksHaveAReasonInJsonOnly) {
  Verdict verdict = measured();
  verdict.evidence = R"({"timing": {"clocks": {"reason": "no NVML"}}})";
  EXPECT_EQ(json::parse(judgement_json(verdict))["clocks"]["reason"], "no NVML");
  EXPECT_THAT(judgement_text(verdict), Not(HasSubstr("clock")));
  verdict.evidence = R"({"timing": null})";
  EXPECT_TRUE(json::parse(judgement_json(verdict))["clocks"].is_null());
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

TEST(CheckReportTest, ARefusedTaskIsNoFailureOfTheMachine) {
  const Judgement refused = InfraFailure{InfraKind::task_refused, "op.py: it is random"};
  EXPECT_EQ(judgement_text(refused), "task refused: op.py: it is random\n");
  EXPECT_EQ(json::parse(judgement_json(refused))["verdict"], "infra_task_refused");
}

TEST(CheckReportTest, AKernelOnACpuCrashesAndHasNoDeviceFault) {
  Verdict verdict = measured();
  verdict.outcome = VerdictClass::device_fault;
  verdict.feedback = "crashed: set 1 (normal): segmentation fault";
  EXPECT_THAT(judgement_text(verdict),
              testing::StartsWith("crashed\n  set 1 (normal): segmentation fault\n"));
  EXPECT_EQ(json::parse(judgement_json(verdict))["verdict"], "device_fault");
  verdict.feedback = "device_fault: set 1 (normal): illegal address";
  EXPECT_THAT(judgement_text(verdict),
              testing::StartsWith("device_fault\n  set 1 (normal): illegal address\n"));
}

Verdict wrong() {
  Verdict verdict;
  verdict.outcome = VerdictClass::wrong;
  verdict.contract = "cpu";
  verdict.feedback = "wrong: set 2 (wide): error 9 times the bound";
  verdict.evidence = R"({"sets": [{"wrong": 0}, {"wrong": 3, "differs": {"first": "y[3, 0]",
      "got": 0.5, "expected": "inf", "likely_number": 0.25}}]})";
  return verdict;
}

TEST(CheckReportTest, AWrongVerdictNamesTheFirstWrongElementWithItsValues) {
  EXPECT_THAT(judgement_text(wrong()),
              HasSubstr("  first wrong element: y[3, 0] is 0.5, expected inf (factor or offset: "
                        "0.25)\n"));
  Verdict unwritten = wrong();
  unwritten.evidence = R"({"sets": [{"differs": {"first": "y", "got": null, "expected": 2}}]})";
  EXPECT_THAT(judgement_text(unwritten),
              HasSubstr("first wrong element: y is not written, expected 2\n"));
  EXPECT_THAT(judgement_text(measured()), Not(HasSubstr("first wrong element")));
}

TEST(CheckReportTest, TheFirstShapeThatIsNotCorrectDecidesElseTheSlowest) {
  Verdict slow = measured();
  slow.shapes[1].speedup_eager = 1.5;
  const JudgedShape first{"get_inputs", measured()}, second{"get_inputs_long", slow},
      third{"get_inputs_odd", wrong()};
  EXPECT_EQ(json::parse(shapes_json({first, second}, Request::final))["speedup_eager"], 1.5);
  const json out = json::parse(shapes_json({first, second, third}, Request::final));
  EXPECT_EQ(out["verdict"], "wrong");
  ASSERT_EQ(out["declared_shapes"].size(), 3U);
  EXPECT_EQ(out["declared_shapes"][1]["shape"], "get_inputs_long");
  EXPECT_EQ(out["declared_shapes"][1]["speedup_eager"], 1.5);
  EXPECT_EQ(out["declared_shapes"][2]["verdict"], "wrong");
}

TEST(CheckReportTest, TextNamesEveryDeclaredShapeIfThereAreSeveral) {
  const JudgedShape first{"get_inputs", measured()}, second{"get_inputs_odd", wrong()};
  EXPECT_EQ(shapes_text({first}, {}, Request::final), judgement_text(measured()));
  const std::string text = shapes_text({first, second}, {"get_inputs_last"}, Request::final);
  EXPECT_THAT(text, testing::StartsWith("get_inputs: passed\n"));
  EXPECT_THAT(text, HasSubstr("\nget_inputs_odd: wrong\n"));
  EXPECT_THAT(text, HasSubstr("\nget_inputs_last: not judged, because a shape before it is not "
                              "correct\n"));
}

TEST(CheckReportTest, TheJailIsPrintedOnceUnlessItChanges) {
  const JudgedShape first{"get_inputs", measured()};
  JudgedShape second{"get_inputs_tall", measured()}, third{"get_inputs_wide", measured()};
  std::get<Verdict>(third.judgement).jail["network"] = "shared";
  const std::string text = shapes_text({first, second, third}, {}, Request::final);
  const size_t jail = text.find("  jail: network none"), next = text.find("get_inputs_tall: ");
  EXPECT_LT(jail, next);
  EXPECT_EQ(text.find("  jail: network none", next), std::string::npos);
  EXPECT_THAT(text, HasSubstr("  jail: network shared"));
}

TEST(CheckReportTest, WrongAnswersThatWouldPassAreInWordsAndInJsonByName) {
  Verdict verdict = measured();
  verdict.weakness = "constant_mean (0.4 of the bound)";
  EXPECT_THAT(judgement_text(verdict),
              HasSubstr("from right ones: the mean as a constant (0.4 of"));
  EXPECT_EQ(json::parse(judgement_json(verdict))["accepted_mutants"], verdict.weakness);
  verdict.trust = TrustClass::paper;
  verdict.feedback = "passed: 1 ms (the tolerance accepts wrong answers: " + verdict.weakness + ")";
  EXPECT_THAT(judgement_text(verdict), HasSubstr("wrong answers: the mean as a constant (0.4 of"));
}

TEST(CheckReportTest, TextSaysThatContractCpuTimesOneCore) {
  EXPECT_THAT(judgement_text(measured()), HasSubstr("  contract cpu times one core: "));
  Verdict verdict = measured();
  verdict.contract = "device";
  EXPECT_THAT(judgement_text(verdict), Not(HasSubstr("one core")));
}

TEST(CheckReportTest, AProfileIsRewardedLikeAFinalVerdict) {
  EXPECT_EQ(judgement_text(measured(), Request::profile), judgement_text(measured()));
  EXPECT_EQ(judgement_json(measured(), Request::profile), judgement_json(measured()));
}

TEST(CheckReportTest, InvalidUtf8IsReplacedAndNotFatal) {
  Verdict verdict = measured();
  verdict.feedback = "kernel.cpp:1: stray \xff\xfe in program";
  const json out = json::parse(judgement_json(verdict));
  EXPECT_THAT(out["feedback"].get<std::string>(), HasSubstr("stray \xEF\xBF\xBD"));
  EXPECT_NO_THROW((void)judgement_json(InfraFailure{InfraKind::disk, "\x80"}));
}

TEST(CheckReportTest, HiddenShapesAreListedSeparately) {
  Verdict verdict = measured();
  verdict.shapes.push_back({.shape = "d0=301", .worst_error = 0.25, .hidden = true});
  const json out = json::parse(judgement_json(verdict));
  EXPECT_EQ(out["hidden_shapes"], json::parse(R"([{"shape": "d0=301", "worst_error": 0.25}])"));
  EXPECT_EQ(out["speedup_eager"], 2);
  EXPECT_EQ(json::parse(judgement_json(measured()))["hidden_shapes"], json::array());
}

TEST(CheckReportTest, TrustClassShowsNumericsPaper) {
  Verdict verdict = measured();
  verdict.trust = TrustClass::paper;
  EXPECT_THAT(judgement_text(verdict), HasSubstr("trust class paper"));
}

}  // namespace
}  // namespace warpsmith::commands
