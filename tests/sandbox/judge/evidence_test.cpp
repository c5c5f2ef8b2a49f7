// SPDX-License-Identifier: Apache-2.0
#include "sandbox/judge/evidence.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

namespace warpsmith::sandbox {
namespace {

using nlohmann::json;

/// Two blocks of four implementations; the graph could not be captured.
EvaluationOutcome timed() {
  EvaluationOutcome outcome;
  Timings timings{.on_device = true};
  timings.further = {{.which = Baseline::tuned, .scatter = 0.04},
                     {.which = Baseline::graphed, .reason = "it cannot be captured"}};
  timings.blocks = {{.candidate_ms = 0.3,
                     .order = {Implementation::candidate, Implementation::tuned,
                               Implementation::eager, Implementation::compiled},
                     .further_ms = {{Baseline::tuned, 0.36}}},
                    {.candidate_ms = 0.3,
                     .order = {Implementation::compiled, Implementation::eager,
                               Implementation::tuned, Implementation::candidate},
                     .further_ms = {{Baseline::tuned, 0.35}}}};
  outcome.clocks = ClockRecord{
      .each_block = true,
      .first_reading_ms = 0.2,
      .samples = {{.sm_mhz = 1980, .reasons = 0}, {.sm_mhz = 1965, .reasons = 0x4}, {}}};
  outcome.measured.timings = std::move(timings);
  return outcome;
}

json evidence_of(const EvaluationOutcome& outcome, const IngestRecord& record = {}) {
  return json::parse(evidence_json(outcome, record, {}, {}));
}

TEST(EvidenceTest, NamesTheImplementationsOfEachBlockInTheirOrder) {
  EXPECT_EQ(evidence_of(timed())["timing"]["order"], (json{"kmec", "cemk"}));
}

TEST(EvidenceTest, HoldsTheSamplesOfFurtherBaselinesOrTheReason) {
  const json further = evidence_of(timed())["timing"]["further"];
  EXPECT_EQ(further["max-autotune"]["ms"], (json{0.36, 0.35}));
  EXPECT_EQ(further["max-autotune"]["scatter"], 0.04);
  EXPECT_EQ(further["cuda-graph"], (json{{"reason", "it cannot be captured"}}));
}

TEST(EvidenceTest, HoldsTheClocksOfEachReadingAndTheirSummary) {
  const json clocks = evidence_of(timed())["timing"]["clocks"];
  EXPECT_EQ(clocks["read"], "around each block");
  EXPECT_EQ(clocks["sm_mhz"], (json{1980, 1965, nullptr}));
  EXPECT_EQ(clocks["power_w"], (json{nullptr, nullptr, nullptr}));
  EXPECT_EQ(clocks["reasons"][0], json::array());
  EXPECT_EQ(clocks["reasons"][1], json::array({"sw_power_cap"}));
  EXPECT_TRUE(clocks["reasons"][2].is_null());
  EXPECT_EQ(clocks["summary"]["lowest_sm_mhz"], 1965);
  EXPECT_EQ(clocks["summary"]["reasons"], (json{{"sw_power_cap", 1}}));
  EXPECT_EQ(clocks["summary"]["readings"], 3);
}

TEST(EvidenceTest, GivesTheReasonForMissingClocksAndNullOnACpu) {
  EvaluationOutcome outcome = timed();
  outcome.clocks.reset();
  EXPECT_TRUE(evidence_of(outcome)["timing"]["clocks"].is_null());
  outcome.no_clocks = "no NVML";
  EXPECT_EQ(evidence_of(outcome)["timing"]["clocks"], (json{{"reason", "no NVML"}}));
}

TEST(EvidenceTest, HoldsTheFirstWrongElementWithItsValues) {
  EvaluationOutcome outcome;
  outcome.measured.sets.push_back(
      {.errors = {.wrong = 2, .elements = 8},
       .report = WrongReport{.element = "y[3]",
                             .wrong = 2,
                             .elements = 8,
                             .nonfinite = {.infinite = 1},
                             .cause = {"all are off by one constant factor", 0.5},
                             .got = HUGE_VAL,
                             .expected = 1.5}});
  const json differs = evidence_of(outcome)["sets"][0]["differs"];
  EXPECT_EQ(differs["first"], "y[3]");
  EXPECT_EQ(differs["got"], "inf");
  EXPECT_EQ(differs["expected"], 1.5);
  EXPECT_EQ(differs["infinite"], 1);
  EXPECT_EQ(differs["likely_number"], 0.5);
  outcome.measured.sets[0].report->unwritten = true;
  EXPECT_TRUE(evidence_of(outcome)["sets"][0]["differs"]["got"].is_null());
}

TEST(EvidenceTest, NamesTheClockThatCounts) {
  EvaluationOutcome outcome = timed();
  EXPECT_EQ(evidence_of(outcome)["timing"]["clock"], "device");
  for (TimedBlock& block : outcome.measured.timings->blocks) block.candidate_clock_ms = 0.33;
  EXPECT_EQ(evidence_of(outcome)["timing"]["clock"], "verifier");
  outcome.measured.timings->on_device = false;
  EXPECT_EQ(evidence_of(outcome)["timing"]["clock"], "core");
  outcome.stage.emplace();
  EXPECT_EQ(evidence_of(outcome)["timing"]["clock"], "verifier");
}

TEST(EvidenceTest, AcceptsNamesOfLibrariesThatAreNotUtf8) {
  EvaluationOutcome outcome;
  outcome.stage = StageFacts{.libraries = {"libcu\xff.so"}};
  EXPECT_EQ(evidence_of(outcome)["stage"]["libraries"], (json{"libcu\xEF\xBF\xBD.so"}));
}

TEST(EvidenceTest, HoldsTheIngestedFactsOfEachBaseline) {
  IngestRecord record;
  record.facts.eager_ms = 0.5;
  record.further = {{.which = Baseline::tuned, .seconds = 12, .ms = 0.25},
                    {.which = Baseline::graphed, .reason = "no"}};
  const json ingest = evidence_of({}, record)["ingest"];
  EXPECT_EQ(ingest["eager_ms"], 0.5);
  EXPECT_EQ(ingest["further"]["max-autotune"],
            (json{{"ready_s", 12.0}, {"ms", 0.25}, {"reason", nullptr}}));
  EXPECT_EQ(ingest["further"]["cuda-graph"],
            (json{{"ready_s", 0.0}, {"ms", nullptr}, {"reason", "no"}}));
}

}  // namespace
}  // namespace warpsmith::sandbox
