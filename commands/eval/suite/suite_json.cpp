// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>

#include "commands/eval/suite/suite_comparison.hpp"
#include "commands/eval/suite/suite_table.hpp"
#include "runtime/json_text.hpp"

namespace warpsmith::commands {
namespace {

using nlohmann::json;

json measured_json(const std::optional<Measured>& measured) {
  if (!measured) return nullptr;
  json out{{"value", measured->value}, {"low", nullptr}, {"high", nullptr}};
  if (measured->interval) {
    out["low"] = measured->interval->low;
    out["high"] = measured->interval->high;
  }
  return out;
}

json best_json(const std::optional<SuiteSample>& best) {
  if (!best) return nullptr;
  return {{"trajectory", best->id},
          {"candidate_ms", measured_json(best->candidate_ms)},
          {"eager_ms", measured_json(best->eager_ms)},
          {"compile_ms", measured_json(best->compile_ms)},
          {"speedup_eager", measured_json(best->speedup_eager)},
          {"speedup_compile", measured_json(best->speedup_compile)}};
}

json speeds_json(const SpeedFigures& speeds) {
  json fast = json::array(), best = json::array();
  for (size_t i = 0; i < fast_points.size(); ++i) {
    fast.push_back({{"p", fast_points[i]}, {"share", nullable(speeds.fast[i])}});
    best.push_back({{"p", fast_points[i]}, {"share", nullable(speeds.best_fast[i])}});
  }
  return {{"faster", nullable(speeds.faster)},
          {"fast_p", fast},
          {"best_fast_p", best},
          {"geomean", nullable(speeds.geomean)},
          {"best_geomean", nullable(speeds.best_geomean)}};
}

json row_json(const SuiteRow& row) {
  json out{{"scope", to_string(row.scope)},
           {"level", row.level},
           {"task", row.task},
           {"reason", row.reason}};
  if (row.scope == SuiteScope::refused) return out;
  json pass_at = json::object();
  for (const auto& [k, value] : row.pass_at) pass_at[std::to_string(k)] = nullable(value);
  out.update({{"numerics", row.numerics},
              {"tasks", row.tasks},
              {"samples", row.samples},
              {"missing", row.missing},
              {"correct", row.correct},
              {"pass_rate", nullable(row.pass_rate)},
              {"pass_at", pass_at},
              {"eager", speeds_json(row.eager)},
              {"compile", speeds_json(row.compile)},
              {"best", best_json(row.best)},
              {"trust", row.trust},
              {"failures", row.failures}});
  return out;
}

json rows_json(const SuiteTable& table) {
  json rows = json::array();
  for (const SuiteRow& row : table.rows) rows.push_back(row_json(row));
  return rows;
}

/// Both tables over the tasks that the two have in common.
json against_json(const SuiteReport& before, const SuiteReport& now) {
  const CommonTasks common = common_tasks(before, now);
  return {{"run", before.run},
          {"stack", before.stack.fields},
          {"stack_differences", stack_differences(before.stack, now.stack)},
          {"tasks", common.ids},
          {"left_out", common.left_out},
          {"before", rows_json(table_over(before, common))},
          {"now", rows_json(table_over(now, common))}};
}

}  // namespace

std::string to_json(const SuiteReport& report, const SuiteReport* before) {
  json out{{"run", report.run},
           {"suite", report.plan.suite},
           {"samples_per_task", report.plan.samples},
           {"stack", report.stack.fields},
           {"rows", rows_json(report.table)}};
  if (before != nullptr) out["against"] = against_json(*before, report);
  return json_text(out, 2) + '\n';
}

}  // namespace warpsmith::commands
