// SPDX-License-Identifier: Apache-2.0
// The report of a suite as CSV, as text for a terminal and as JSON.
#include "commands/eval/suite_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "commands/verdict_words.hpp"
#include "runtime/json_text.hpp"
#include "runtime/text.hpp"
#include "sandbox/ingest/mutant_words.hpp"

namespace warpsmith::commands {
namespace {

using nlohmann::json;

using Cells = std::vector<std::string>;

// --- CSV

std::string number(const std::optional<double>& value) {
  return value ? fmt::format("{:.6g}", *value) : "";
}

/// A field of RFC 4180.
std::string field(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string out = "\"";
  for (const char c : text) out += c == '"' ? std::string{"\"\""} : std::string{c};
  return out + '"';
}

std::string failures_text(const SuiteRow& row) {
  std::string out;
  for (const auto& [outcome, count] : row.failures) {
    out += fmt::format("{}{} {}", out.empty() ? "" : "; ", outcome, count);
  }
  return out;
}

void add_speed_names(std::vector<std::string>& names, const std::string& baseline) {
  names.push_back("faster_" + baseline);
  for (const double p : fast_points) names.push_back("fast_" + number(p) + '_' + baseline);
  names.push_back("geomean_" + baseline);
  for (const double p : fast_points) names.push_back("best_fast_" + number(p) + '_' + baseline);
  names.push_back("best_geomean_" + baseline);
}

std::vector<std::string> column_names(const SuiteTable& table) {
  std::vector<std::string> names{"scope",   "level",   "task",    "numerics", "tasks",
                                 "samples", "missing", "correct", "pass_rate"};
  for (const int64_t k : table.ks) names.push_back(fmt::format("pass@{}", k));
  add_speed_names(names, "eager");
  add_speed_names(names, "compile");
  for (const char* what :
       {"candidate_ms", "eager_ms", "compile_ms", "speedup_eager", "speedup_compile"}) {
    for (const char* end : {"", "_low", "_high"}) names.push_back(std::string{what} + end);
  }
  names.insert(names.end(), {"trust", "failures", "reason", "insensitive", "without_compile"});
  return names;
}

void add_speeds(std::vector<std::string>& fields, const SpeedFigures& speeds) {
  fields.push_back(number(speeds.faster));
  for (const Share& share : speeds.fast) fields.push_back(number(share));
  fields.push_back(number(speeds.geomean));
  for (const Share& share : speeds.best_fast) fields.push_back(number(share));
  fields.push_back(number(speeds.best_geomean));
}

void add_measured(std::vector<std::string>& fields, const std::optional<Measured>& measured) {
  const bool has_interval = measured && measured->interval;
  fields.push_back(measured ? number(measured->value) : "");
  fields.push_back(has_interval ? number(measured->interval->low) : "");
  fields.push_back(has_interval ? number(measured->interval->high) : "");
}

void add_figures(std::vector<std::string>& fields, const SuiteRow& row,
                 const std::vector<int64_t>& ks) {
  for (const size_t count : {row.tasks, row.samples, row.missing, row.correct}) {
    fields.push_back(std::to_string(count));
  }
  fields.push_back(number(row.pass_rate));
  for (const int64_t k : ks) fields.push_back(number(row.pass_at.at(k)));
  add_speeds(fields, row.eager);
  add_speeds(fields, row.compile);
  const SuiteSample best = row.best.value_or(SuiteSample{});
  for (const auto* one : {&best.candidate_ms, &best.eager_ms, &best.compile_ms, &best.speedup_eager,
                          &best.speedup_compile}) {
    add_measured(fields, *one);
  }
}

std::string csv_line(const std::vector<std::string>& fields) {
  std::string line;
  for (const std::string& one : fields) line += (&one == fields.data() ? "" : ",") + field(one);
  return line + '\n';
}

std::vector<std::string> fields_of(const SuiteRow& row, const SuiteTable& table, size_t columns) {
  std::vector<std::string> fields{std::string{to_string(row.scope)}, row.level, row.task,
                                  row.numerics};
  if (row.scope != SuiteScope::refused) add_figures(fields, row, table.ks);
  fields.resize(columns - 5);
  fields.insert(fields.end(),
                {row.trust, failures_text(row), row.reason, row.insensitive, row.without_compile});
  return fields;
}

// --- text

/// In percent, with the sign in the heading.
std::string percent(const Share& share) {
  return share ? fmt::format("{:.1f}", 100 * *share) : "-";
}

Cells heading(const SuiteTable& table) {
  Cells names{"", "samples", "pass %"};
  for (const int64_t k : table.ks) names.push_back(fmt::format("pass@{}", k));
  for (const char* name : {">eager", ">compile", "fast_1", "fast_1.5", "fast_2", "geomean",
                           "gm.comp.", "best ms", "best x", "trust", ""}) {
    names.emplace_back(name);
  }
  return names;
}

std::string name_of(const SuiteRow& row) {
  if (row.scope == SuiteScope::all) return "all tasks, " + row.numerics;
  if (row.scope == SuiteScope::sensitive) return "sensitive tasks, " + row.numerics;
  if (row.scope == SuiteScope::level) return row.level + ", " + row.numerics;
  if (row.scope == SuiteScope::sensitive_level) {
    return row.level + ", sensitive tasks, " + row.numerics;
  }
  return "  " + row.task + (row.insensitive.empty() ? "" : " *");
}

Cells cells_of(const SuiteRow& row, const SuiteTable& table) {
  Cells figures{name_of(row), std::to_string(row.samples), percent(row.pass_rate)};
  for (const int64_t k : table.ks) figures.push_back(percent(row.pass_at.at(k)));
  figures.push_back(percent(row.eager.faster));
  figures.push_back(percent(row.compile.faster));
  for (size_t i = 1; i < fast_points.size(); ++i) figures.push_back(percent(row.eager.fast[i]));
  for (const auto& mean : {row.eager.geomean, row.compile.geomean}) {
    figures.push_back(number_text(mean, 3));
  }
  const bool timed = row.best && row.best->candidate_ms;
  figures.push_back(timed ? fmt::format("{:.4g}", row.best->candidate_ms->value) : "-");
  const bool compared = row.best && row.best->speedup_eager;
  figures.push_back(compared ? number_text(row.best->speedup_eager->value, 3) : "-");
  figures.push_back(row.trust);
  figures.push_back(row.scope == SuiteScope::task ? failures_text(row) : "");
  return figures;
}

/// The tasks without all their samples, by name and with the reason.
std::string missing_lines(const SuiteReport& report) {
  std::string out;
  for (const SuiteRow& row : report.table.rows) {
    const bool counts = row.scope == SuiteScope::task && row.numerics == report.plan.numerics;
    if (!counts || row.missing == 0) continue;
    out += fmt::format("missing: {}, {} of {}: {}\n", row.task, row.missing, report.plan.samples,
                       row.missing_why.empty() ? "not sampled yet" : row.missing_why);
  }
  return out;
}

Cells level_cells(const std::string& name, const SuiteRow& row) {
  Cells cells{name};
  for (const Share& share : {row.pass_rate, row.eager.faster, row.compile.faster, row.eager.fast[1],
                             row.eager.fast[2], row.eager.fast[3]}) {
    cells.push_back(percent(share));
  }
  for (const auto& mean : {row.eager.geomean, row.compile.geomean}) {
    cells.push_back(number_text(mean, 3));
  }
  return cells;
}

const SuiteRow* same_row(const SuiteTable& table, const SuiteRow& row) {
  const auto found = std::ranges::find_if(table.rows, [&](const SuiteRow& other) {
    return other.scope == row.scope && other.level == row.level && other.task == row.task &&
           other.numerics == row.numerics;
  });
  return found == table.rows.end() ? nullptr : &*found;
}

// --- JSON

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
              {"insensitive", row.insensitive},
              {"without_compile", row.without_compile},
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

std::string to_csv(const SuiteTable& table) {
  const auto names = column_names(table);
  std::string out = csv_line(names);
  for (const SuiteRow& row : table.rows) out += csv_line(fields_of(row, table, names.size()));
  return out;
}

std::string to_text(const SuiteReport& report) {
  std::vector<Cells> rows{heading(report.table)};
  for (const SuiteRow& row : report.table.rows) {
    if (row.scope != SuiteScope::refused) rows.push_back(cells_of(row, report.table));
  }
  const std::string columns = 'l' + std::string(rows.front().size() - 3, 'r') + "ll";
  std::string out = report.run + ": " + report.plan.suite + "\n" + to_text(report.stack) + '\n' +
                    text_table(columns, rows);
  if (report.one_core) out += one_core_text(report.plan.contract) + '\n';
  for (const SuiteRow& row : report.table.rows) {
    if (row.scope == SuiteScope::refused) out += "refused: " + row.task + ": " + row.reason + '\n';
  }
  for (const SuiteRow& row : report.table.rows) {
    if (row.numerics != report.plan.numerics) continue;
    if (!row.insensitive.empty()) {
      out += "* " + row.task +
             " cannot tell from right answers: " + sandbox::in_words(row.insensitive) + '\n';
    }
    if (!row.without_compile.empty()) {
      out += row.task + " without torch.compile: " + row.without_compile + '\n';
    }
  }
  return out + missing_lines(report);
}

std::string to_text(const SuiteReport& before, const SuiteReport& now) {
  std::vector<Cells> rows;
  rows.push_back(
      {"", "pass %", ">eager", ">compile", "fast_1", "fast_1.5", "fast_2", "geomean", "gm.comp."});
  const CommonTasks common = common_tasks(before, now);
  const SuiteTable earlier = table_over(before, common);
  for (const SuiteRow& row : table_over(now, common).rows) {
    const SuiteRow* same = same_row(earlier, row);
    if (row.scope == SuiteScope::refused || same == nullptr) continue;
    rows.push_back(level_cells(name_of(row) + " before", *same));
    rows.push_back(level_cells("  now", row));
  }
  std::string out = "before: " + before.run + '\n' + to_text(before.stack) + "now:    " + now.run +
                    '\n' + to_text(now.stack) + '\n' + text_table("lrrrrrrrr", rows);
  for (const std::string& one : common.left_out) out += "left out: " + one + '\n';
  return out;
}

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
