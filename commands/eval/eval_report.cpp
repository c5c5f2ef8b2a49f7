// SPDX-License-Identifier: Apache-2.0
#include "commands/eval/eval_report.hpp"

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "actors/brain/exchange_log.hpp"
#include "runtime/json_text.hpp"
#include "runtime/run/durable_file.hpp"
#include "runtime/run/run_queries.hpp"

namespace warpsmith::commands {
using namespace actors;
namespace {

constexpr uint64_t bootstrap_seed = 1;  // fixed, so that equal samples give equal intervals
constexpr size_t most_bytes = 64U << 20U;

/// The times of one task's correct final verdicts, in milliseconds.
struct Times {
  std::vector<double> candidate_ms, eager_ms, compile_ms;

  void add(const ShapeResult& shape) {
    if (shape.candidate_ms) candidate_ms.push_back(*shape.candidate_ms);
    if (shape.eager_ms) eager_ms.push_back(*shape.eager_ms);
    if (shape.compile_ms) compile_ms.push_back(*shape.compile_ms);
  }
};

/// What the trajectories of an evaluation contain.
struct Results {
  std::vector<EvalSample> samples;
  std::map<std::string, Times> times;  // by task
  uint64_t drops = 0;
  std::map<std::string, std::string> dropped;  // by task: why the newest was
};

Result<Results> results_of(RunDatabase& db, const std::vector<TrajectoryRow>& rows) {
  Results results;
  for (const TrajectoryRow& row : rows) {
    if (row.drop_reason) {
      ++results.drops;
      results.dropped[row.task_id] = row.drop_detail;
    }
    if (!row.outcome) continue;
    const Outcome& o = *row.outcome;
    EvalSample sample{.task_id = row.task_id,
                      .reward = o.reward,
                      .passed = o.verdict == VerdictClass::passed,
                      .speedup_eager = o.speedup_eager,
                      .speedup_compile = o.speedup_compile};
    TRY(const auto verdicts, verdict_rows(db, row.id));
    for (const VerdictRow& one : verdicts) {
      if (!is_deciding(one, o) || !one.verdict.correct() || one.verdict.shapes.empty()) continue;
      if (one.verdict.strict) sample.strict = one.verdict.strict->passed;
      results.times[row.task_id].add(one.verdict.shapes.front());
    }
    results.samples.push_back(std::move(sample));
  }
  return results;
}

/// Means are null if there are no samples.
nlohmann::json figures_json(const EvalFigures& f) {
  const auto mean = [&](double value) {
    return f.samples > 0 ? nlohmann::json(value) : nlohmann::json(nullptr);
  };
  return {{"samples", f.samples},
          {"pass_rate", mean(f.pass_rate)},
          {"strict_pass_rate", nullable(f.strict_pass_rate)},
          {"mean_reward", mean(f.mean_reward)},
          {"fast_eager", mean(f.fast_eager)},
          {"fast_compile", mean(f.fast_compile)},
          {"geomean_eager", nullable(f.geomean_eager)},
          {"geomean_compile", nullable(f.geomean_compile)}};
}

nlohmann::json summary_json(const EvalSummary& summary) {
  nlohmann::json out = figures_json(summary.all);
  out["tasks"] = summary.by_task.size();
  const bool any = summary.all.samples > 0;
  out["mean_reward_low"] = any ? nlohmann::json(summary.mean_reward_low) : nlohmann::json(nullptr);
  out["mean_reward_high"] =
      any ? nlohmann::json(summary.mean_reward_high) : nlohmann::json(nullptr);
  return out;
}

nlohmann::json times_json(const Times& times) {
  return {{"candidate_ms", nullable(median_of(times.candidate_ms))},
          {"eager_ms", nullable(median_of(times.eager_ms))},
          {"compile_ms", nullable(median_of(times.compile_ms))}};
}

nlohmann::json difference_json(const EvalDifference& d) {
  return {{"tasks", d.tasks}, {"difference", d.mean}, {"low", d.low}, {"high", d.high}};
}

/// The difference of the rewards, and of the pass rates if `before` contains them.
nlohmann::json against_json(const EvalOutcomes& before, const EvalOutcomes& now) {
  auto out = difference_json(paired_difference(before.rewards, now.rewards, bootstrap_seed));
  if (!before.passed.empty()) {
    out["pass_rate"] =
        difference_json(paired_difference(before.passed, now.passed, bootstrap_seed));
  }
  return out;
}

Result<double> value_of(const nlohmann::json& value, const std::string& place) {
  if (value.is_number() && std::isfinite(value.get<double>())) return value.get<double>();
  return fail(ErrorCode::parse_failed, place + ": expected a finite number, got " + value.dump());
}

/// The numbers under `key` of one task; `place` names the task.
Result<std::vector<double>> values_of(const nlohmann::json& figures, const char* key,
                                      const std::string& place) {
  if (!figures.is_object() || !figures.contains(key) || !figures[key].is_array()) {
    return fail(ErrorCode::parse_failed, place + key + ": expected a list of numbers");
  }
  std::vector<double> values;
  for (const auto& each : figures[key]) {
    TRY(const auto value, value_of(each, place + key));
    values.push_back(value);
  }
  return values;
}

/// Adds the outcomes of one task. Reports from before `passed` was added contain only rewards.
Result<void> add_task(const nlohmann::json& figures, const std::string& task, EvalOutcomes& to) {
  const std::string place = "by_task." + task + ".";
  TRY(auto rewards, values_of(figures, "rewards", place));
  to.rewards[task] = std::move(rewards);
  if (!figures.contains("passed")) return {};
  TRY(auto passed, values_of(figures, "passed", place));
  to.passed[task] = std::move(passed);
  return {};
}

}  // namespace

Result<EvalReport> eval_report(const RunPaths& paths, const EvalSize& size,
                               const std::optional<EvalOutcomes>& before, bool whole) {
  TRY(auto db, RunDatabase::open(paths.database(), SqlAccess::read_only));
  TRY(const auto rows, trajectory_rows(db, 1, UINT64_MAX >> 1U));
  TRY(auto results, results_of(db, rows));
  const std::vector<EvalSample>& samples = results.samples;
  const EvalSummary summary = summarize_eval(samples, bootstrap_seed);
  const EvalOutcomes outcomes = outcomes_of(samples);
  nlohmann::json out = summary_json(summary);
  out["run"] = paths.folder.string();
  out["wanted"] = size.wanted;
  out["dropped"] = results.drops;
  if (results.drops > 0) out["dropped_newest"] = results.dropped;
  out["refused_tasks"] = size.refused_tasks;
  const auto usage = usage_of_run(paths.folder);
  if (usage && usage->requests > 0) out["brain"] = nlohmann::json::parse(to_json(*usage));
  if (before) out["against"] = against_json(*before, outcomes);
  if (!whole) return EvalReport{json_text(out, 2), samples.size(), std::move(results.dropped)};
  for (const auto& [task, figures] : summary.by_task) {
    nlohmann::json& entry = out["by_task"][task] = figures_json(figures);
    entry["rewards"] = outcomes.rewards.at(task);
    entry["passed"] = outcomes.passed.at(task);
    entry["times"] = times_json(results.times[task]);
  }
  return EvalReport{json_text(out), samples.size(), std::move(results.dropped)};
}

Result<EvalOutcomes> parse_eval_outcomes(std::string_view text) {
  const auto json = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object() || !json.contains("by_task") || !json["by_task"].is_object()) {
    return fail(ErrorCode::parse_failed,
                "expected an object with \"by_task\", as eval --json prints");
  }
  EvalOutcomes outcomes;
  for (const auto& [task, figures] : json["by_task"].items()) {
    TRY_VOID(add_task(figures, task, outcomes));
  }
  return outcomes;
}

Result<EvalOutcomes> read_eval_outcomes(const std::filesystem::path& file) {
  TRY(const auto text, read_text_file(file, most_bytes));
  auto outcomes = parse_eval_outcomes(text);
  if (!outcomes) outcomes.error().message = file.string() + ": " + outcomes.error().message;
  return outcomes;
}

}  // namespace warpsmith::commands
