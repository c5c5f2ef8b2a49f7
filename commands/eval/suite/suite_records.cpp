// SPDX-License-Identifier: Apache-2.0
#include "commands/eval/suite/suite_records.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "runtime/run/run_queries.hpp"

namespace warpsmith::commands {
namespace {

using nlohmann::json;

std::string first_line(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

/// The blocks' times of one party in a verdict's evidence; none if it holds no such list.
std::vector<double> block_times(const json& evidence, const char* party) {
  std::vector<double> times;
  if (!evidence.is_object() || !evidence.contains("timing")) return times;
  const json& timing = evidence["timing"];
  if (!timing.is_object() || !timing.contains(party) || !timing[party].is_array()) return times;
  for (const json& value : timing[party]) {
    if (value.is_number()) times.push_back(value.get<double>());
  }
  return times;
}

std::optional<Measured> measured_time(const std::optional<double>& ms, const json& evidence,
                                      const char* party) {
  if (!ms) return std::nullopt;
  return Measured{*ms, median_interval(block_times(evidence, party))};
}

std::optional<Measured> measured_ratio(const std::optional<double>& ratio,
                                       const std::optional<Interval>& interval) {
  if (!ratio) return std::nullopt;
  return Measured{*ratio, interval};
}

void add_times(SuiteSample& sample, const Verdict& verdict) {
  if (verdict.shapes.empty()) return;
  const ShapeResult& shape = verdict.shapes.front();
  const json evidence = json::parse(verdict.evidence, nullptr, /*allow_exceptions=*/false);
  sample.candidate_ms = measured_time(shape.candidate_ms, evidence, "candidate_ms");
  sample.eager_ms = measured_time(shape.eager_ms, evidence, "eager_ms");
  sample.compile_ms = measured_time(shape.compile_ms, evidence, "compile_ms");
  sample.speedup_eager = measured_ratio(shape.speedup_eager, shape.speedup_eager_ci);
  sample.speedup_compile = measured_ratio(shape.speedup_compile, shape.speedup_compile_ci);
}

void add_verdict(SuiteSample& sample, const Verdict& verdict) {
  sample.trust = to_string(verdict.trust);
  sample.feedback = first_line(verdict.feedback);
  if (!sample.passed || !verdict.correct()) return;
  sample.strict_passed = verdict.strict ? verdict.strict->passed : true;
  add_times(sample, verdict);
}

Result<SuiteSample> sample_of(RunDatabase& db, const TrajectoryRow& row) {
  SuiteSample sample{.id = row.id, .outcome = std::string{verdict_name(*row.outcome)}};
  sample.passed = row.outcome->verdict == VerdictClass::passed;
  const auto verdicts = verdict_rows(db, row.id);
  if (!verdicts) return tl::unexpected(verdicts.error());
  for (const VerdictRow& one : *verdicts) {
    if (is_deciding(one, *row.outcome)) add_verdict(sample, one.verdict);
  }
  return sample;
}

/// "task ID refused: REASON", as the synthesis records it.
void add_refusal(std::map<std::string, std::string>& refused, const std::string& text) {
  constexpr std::string_view begin = "task ", middle = " refused: ";
  const size_t at = text.find(middle);
  if (!text.starts_with(begin) || at == std::string::npos) return;
  refused[text.substr(begin.size(), at - begin.size())] = text.substr(at + middle.size());
}

}  // namespace

std::optional<Interval> median_interval(std::vector<double> values) {
  const auto count = values.size();
  constexpr double most_outside = 0.025;  // on each side
  std::sort(values.begin(), values.end());
  double below = 0, term = std::pow(0.5, static_cast<double>(count));
  size_t rank = 0;  // P(fewer than `rank` + 1 values lie below the median) is still small
  while (rank < count / 2 && below + term <= most_outside) {
    below += term;
    ++rank;
    term *= static_cast<double>(count - rank + 1) / static_cast<double>(rank);
  }
  if (rank == 0) return std::nullopt;
  return Interval{values[rank - 1], values[count - rank]};
}

Result<SuiteRecords> read_suite_records(RunDatabase& db) {
  SuiteRecords records;
  const auto rows = trajectory_rows(db, 1, UINT64_MAX >> 1U);
  if (!rows) return tl::unexpected(rows.error());
  for (const TrajectoryRow& row : *rows) {
    if (row.drop_reason) records.dropped[row.task_id] = first_line(row.drop_detail);
    if (row.drop_reason || !row.outcome) continue;
    auto sample = sample_of(db, row);
    if (!sample) return tl::unexpected(std::move(sample.error()));
    records.samples[row.task_id].push_back(std::move(*sample));
  }
  const auto events = recent_events(db, INT32_MAX);
  if (!events) return tl::unexpected(events.error());
  for (const EventRow& event : *events) {
    if (event.kind == "task_refused") add_refusal(records.refused, event.text);
  }
  return records;
}

}  // namespace warpsmith::commands
