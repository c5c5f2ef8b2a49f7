// SPDX-License-Identifier: Apache-2.0
#include "sandbox/judge/evidence.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

#include "runtime/json_text.hpp"
#include "sandbox/judge/decision.hpp"

namespace warpsmith::sandbox {
namespace {

using Json = nlohmann::json;
using cuda::ClockSample;

/// JSON has no infinity: null.
Json finite(double value) {
  return std::isfinite(value) ? Json(value) : Json();
}

/// A number, or "inf", "-inf" or "nan".
Json value_json(double value) {
  return std::isfinite(value) ? Json(value) : Json(fmt::format("{}", value));
}

/// For the operator's owner: feedback, which agents read, has no values.
Json report_json(const WrongReport& report) {
  const NonfiniteCounts& counts = report.nonfinite;
  return {{"first", report.element},
          {"got", report.unwritten ? Json() : value_json(report.got)},
          {"expected", value_json(report.expected)},
          {"wrong", report.wrong},
          {"elements", report.elements},
          {"not_written", counts.unwritten},
          {"not_a_number", counts.not_a_number},
          {"infinite", counts.infinite},
          {"finite", counts.finite},
          {"likely", report.cause.text},
          {"likely_number", nullable(report.cause.number)}};
}

Json set_json(const VerifiedSet& set) {
  Json json{{"distribution", to_string(set.distribution)},
            {"worst_error", finite(set.errors.worst)},
            {"wrong", set.errors.wrong},
            {"nonfinite", set.errors.nonfinite},
            {"undecided", set.errors.undecided},
            {"elements", set.errors.elements},
            {"inputs_changed", set.inputs_changed},
            {"guards_changed", set.guards_changed}};
  if (set.redrawn > 0) json["redrawn"] = set.redrawn;
  if (set.report) json["differs"] = report_json(*set.report);
  if (set.fault) json["fault"] = set.fault->detail;
  return json;
}

Json bound_json(Numerics numerics) {
  const BoundRule bound = bound_for(numerics, spread_evaluations);
  if (numerics == Numerics::paper) {
    return {{"atol", bound.tolerance}, {"rtol", bound.tolerance}};
  }
  return {{"c", bound.c}, {"u", bound.u}, {"evaluations", spread_evaluations}};
}

Json sets_json(const std::vector<VerifiedSet>& sets) {
  Json json = Json::array();
  for (const VerifiedSet& set : sets) json.push_back(set_json(set));
  return json;
}

/// Also for a candidate that was never called.
Json sets_json(const Measurements& measured) {
  if (measured.early) return Json::array({{{"fault", measured.early->detail}}});
  return sets_json(measured.sets);
}

/// The implementations' letters in the order of their calls.
std::string order_text(const Block& order) {
  constexpr std::array letters{'k', 'e', 'c', 'm', 'g'};  // kernel, eager, compiled, max, graph
  std::string text;
  for (const Implementation implementation : order)
    text += letters[static_cast<size_t>(implementation)];
  return text;
}

template <class T>
Json column(const std::vector<ClockSample>& samples, std::optional<T> ClockSample::* member) {
  Json values = Json::array();
  for (const ClockSample& sample : samples) values.push_back(nullable(sample.*member));
  return values;
}

Json reasons_json(const std::vector<ClockSample>& samples) {
  Json values = Json::array();
  for (const ClockSample& sample : samples) {
    values.push_back(sample.reasons ? Json(cuda::reason_names(*sample.reasons)) : Json());
  }
  return values;
}

Json summary_json(const cuda::ClockSummary& summary) {
  return {{"lowest_sm_mhz", nullable(summary.lowest_sm_mhz)},
          {"median_sm_mhz", nullable(summary.median_sm_mhz)},
          {"lowest_memory_mhz", nullable(summary.lowest_memory_mhz)},
          {"median_memory_mhz", nullable(summary.median_memory_mhz)},
          {"highest_power_w", nullable(summary.highest_power_w)},
          {"highest_celsius", nullable(summary.highest_celsius)},
          {"reasons", summary.reasons}};
}

const char* read_when(const ClockRecord& record) {
  if (record.each_block) return "around each block";
  const bool some = record.samples.size() > 2;
  return some ? "around the first blocks and after all" : "before and after all blocks";
}

/// Arrays with one figure per reading, and a summary; the reason if nothing was read; null on a
/// CPU.
Json clocks_json(const EvaluationOutcome& outcome) {
  if (!outcome.clocks) {
    return outcome.no_clocks.empty() ? Json() : Json{{"reason", outcome.no_clocks}};
  }
  const ClockRecord& record = *outcome.clocks;
  Json summary = summary_json(cuda::summary_of(record.samples));
  summary["readings"] = record.samples.size();
  return {{"read", read_when(record)},
          {"first_reading_ms", record.first_reading_ms},
          {"sm_mhz", column(record.samples, &ClockSample::sm_mhz)},
          {"memory_mhz", column(record.samples, &ClockSample::memory_mhz)},
          {"power_w", column(record.samples, &ClockSample::power_w)},
          {"celsius", column(record.samples, &ClockSample::celsius)},
          {"reasons", reasons_json(record.samples)},
          {"summary", summary}};
}

Json further_json(const FurtherTimed& timed, const std::vector<TimedBlock>& blocks) {
  if (!timed.reason.empty()) return {{"reason", timed.reason}};
  return {{"ms", times_of(timed.which, blocks)}, {"scatter", timed.scatter}};
}

/// The clock that times the candidate.
const char* clock_of(const EvaluationOutcome& outcome, const Timings& timings) {
  if (outcome.stage) return "verifier";
  if (!timings.on_device) return "core";
  const bool events = timings.blocks.empty() || trusted_clock(timings) == DeviceClock::events;
  return events ? "device" : "verifier";
}

/// The gap between the device's events and the verifier's clock.
Json gap_json(const Timings& timings) {
  return timings.on_device && !timings.blocks.empty() ? Json(clock_gap_ms(timings)) : Json();
}

Json undisturbed_json(const std::optional<Undisturbed>& alone) {
  if (!alone) return {};
  return {
      {"eager_ms", alone->eager_ms}, {"compile_ms", alone->compile_ms}, {"slack", alone->slack}};
}

Json samples_json(const EvaluationOutcome& outcome, const Timings& timings) {
  Json candidate = Json::array(), elapsed = Json::array(), clock = Json::array();
  Json waited = Json::array();
  Json eager = Json::array(), compiled = Json::array(), orders = Json::array();
  for (const TimedBlock& block : timings.blocks) {
    candidate.push_back(block.candidate_ms);
    elapsed.push_back(block.candidate_elapsed_ms);
    clock.push_back(block.candidate_clock_ms);
    waited.push_back(block.candidate_waited_ms);
    eager.push_back(block.eager_ms);
    compiled.push_back(block.compile_ms);
    orders.push_back(order_text(block.order));
  }
  Json further = Json::object();
  for (const FurtherTimed& timed : timings.further) {
    further[std::string(to_string(timed.which))] = further_json(timed, timings.blocks);
  }
  Json json{{"further", further},
            {"clocks", clocks_json(outcome)},
            {"candidate_ms", candidate},
            {"candidate_elapsed_ms", elapsed},
            {"candidate_clock_ms", clock},
            {"candidate_waited_ms", waited},
            {"clock_gap_ms", gap_json(timings)},
            {"clock", clock_of(outcome, timings)},
            {"grain_ms", timings.grain_ms},
            {"eager_ms", eager},
            {"compile_ms", compiled},
            {"undisturbed", undisturbed_json(timings.undisturbed)},
            {"order", orders},
            {"eager_scatter", timings.eager_scatter},
            {"compile_scatter", timings.compile_scatter},
            {"worst_overtime_ms", timings.worst_overtime_ms},
            {"worst_error", finite(timings.errors.worst)}};
  if (timings.fault) json["fault"] = timings.fault->detail;
  if (timings.report) json["differs"] = report_json(*timings.report);
  return json;
}

/// The ingested facts about each further baseline.
Json ingested_json(const std::vector<BaselineFacts>& further) {
  Json json = Json::object();
  for (const BaselineFacts& facts : further) {
    const bool timed = facts.reason.empty();
    json[std::string(to_string(facts.which))] = {{"ready_s", facts.seconds},
                                                 {"ms", timed ? Json(facts.ms) : Json()},
                                                 {"reason", timed ? Json() : Json(facts.reason)}};
  }
  return json;
}

Json stage_json(const StageFacts& stage) {
  return {{"clock", "verifier"},
          {"baselines_clock", stage.on_device ? "their processor's" : "core"},
          {"reveal_ms", stage.reveal_ms},
          {"output_copy_ms", stage.output_copy_ms},
          {"subtracted_ms", stage.noop_ms},
          {"subtracted_share", nullable(stage.share)},
          {"most_subtracted_share", most_subtracted_share},
          {"within_share", stage.within_share},
          {"sampled_positions", sampled_positions},
          {"libraries", stage.libraries},
          {"hints", stage.hints}};
}

}  // namespace

std::string evidence_json(const EvaluationOutcome& outcome, const IngestRecord& record,
                          const SecretSeed& seed, const Machine& machine,
                          const EvaluationOutcome* ragged) {
  Json json{{"seed", seed.reveal()},
            {"numerics", to_string(outcome.numerics)},
            {"bound", bound_json(outcome.numerics)},
            {"noop_ms",
             {{"candidate", outcome.candidate_noop_ms}, {"baselines", outcome.baseline_noop_ms}}},
            {"floor_ms", record.facts.floor_ms},
            {"roofline_ms", record.facts.roofline_ms},
            {"ingest",
             {{"eager_ms", record.facts.eager_ms},
              {"compile_ms", record.facts.compile_ms},
              {"further", ingested_json(record.further)}}},
            {"machine",
             {{"name", machine.name},
              {"cores", machine.cores},
              {"cache_gbytes_per_s", machine.limits.cache_gbytes_per_s},
              {"memory_gbytes_per_s", machine.limits.memory_gbytes_per_s},
              {"gflops_per_s", machine.limits.gflops_per_s}}}};
  if (outcome.stage) json["stage"] = stage_json(*outcome.stage);
  json["sets"] = sets_json(outcome.measured);
  if (outcome.numerics == Numerics::paper) {
    json["strict_sets"] = sets_json(outcome.measured.strict_sets);
    json["accepted_mutants"] = record.weakness;
    json["strict_refusal"] = record.strict_refusal;
  }
  if (ragged != nullptr) json["hidden_sets"] = sets_json(ragged->measured);
  const auto& timings = outcome.measured.timings;
  json["timing"] = timings ? samples_json(outcome, *timings) : Json();
  // A candidate chooses the names of its libraries, which need not be UTF-8.
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace warpsmith::sandbox
