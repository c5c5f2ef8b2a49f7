// SPDX-License-Identifier: Apache-2.0
// The report of a suite as one HTML page with plots.
#include "commands/eval/suite_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "commands/output_text.hpp"
#include "commands/verdict_words.hpp"

namespace warpsmith::commands {
namespace {

constexpr const char* head =
    "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><title>Suite</title><style>"
    "body{font:14px sans-serif;margin:2em;max-width:80em}table{border-collapse:collapse}"
    "td,th{padding:2px 8px;text-align:right;border-bottom:1px solid #ddd}"
    "td:first-child,th:first-child,.t{text-align:left}tr.all,tr.level{font-weight:bold}"
    "svg text{font:11px sans-serif}</style></head><body>\n";

std::string shown(double value) {
  return fmt::format("{:.4g}", value);
}

std::string cell(const std::string& text, const char* kind = "td") {
  return std::string{"<"} + kind + '>' + text + "</" + kind + '>';
}

/// In percent.
std::string shown(const Share& share) {
  return share ? shown(100 * *share) : "-";
}

std::string ranged(const std::optional<Measured>& measured) {
  if (!measured) return "-";
  std::string out = shown(measured->value);
  if (!measured->interval) return out;
  return out + " <small>(" + shown(measured->interval->low) + " to " +
         shown(measured->interval->high) + ")</small>";
}

std::string line(double x1, double y1, double x2, double y2, const char* style) {
  return "<line x1=\"" + shown(x1) + "\" y1=\"" + shown(y1) + "\" x2=\"" + shown(x2) + "\" y2=\"" +
         shown(y2) + "\" stroke=\"" + style + "\"/>";
}

std::string text_at(double x, double y, const std::string& text, const char* anchor) {
  return "<text x=\"" + shown(x) + "\" y=\"" + shown(y) + "\" text-anchor=\"" + anchor + "\">" +
         for_html(text) + "</text>";
}

/// The speed-ups of the best samples, against one baseline.
std::vector<double> best_speeds(const SuiteTable& table, const std::string& numerics,
                                std::optional<Measured> SuiteSample::* ratio) {
  std::vector<double> speeds;
  for (const SuiteRow& row : table.rows) {
    if (row.scope != SuiteScope::task || row.numerics != numerics || !row.best) continue;
    if ((*row.best).*ratio) speeds.push_back(((*row.best).*ratio)->value);
  }
  return speeds;
}

size_t judged_tasks(const SuiteTable& table) {
  for (const SuiteRow& row : table.rows) {
    if (row.scope == SuiteScope::all) return row.tasks;
  }
  return 0;
}

/// One curve of the share of tasks that are faster than p, for p from 0 to 4.
std::string curve(const std::vector<double>& speeds, size_t tasks, const char* colour) {
  std::string points;
  for (int i = 0; i <= 200; ++i) {
    const double p = i * 0.02;
    const auto faster = std::ranges::count_if(speeds, [p](double s) { return s > p; });
    const double share = tasks == 0 ? 0 : static_cast<double>(faster) / static_cast<double>(tasks);
    points += shown(40 + p * 120) + ',' + shown(220 - 200 * share) + ' ';
  }
  return std::string{"<polyline fill=\"none\" stroke=\""} + colour + "\" points=\"" + points +
         "\"/>";
}

std::string curves(const SuiteReport& report) {
  std::string out =
      "<h2>Share of tasks whose best sample is correct and more than p times as fast</h2>"
      "<svg width=\"600\" height=\"260\" role=\"img\">";
  for (const int share : {0, 25, 50, 75, 100}) {
    out += line(40, 220 - 2 * share, 520, 220 - 2 * share, "#ddd") +
           text_at(36, 224 - 2 * share, fmt::format("{} %", share), "end");
  }
  for (int p = 0; p <= 4; ++p) {
    out += line(40 + p * 120, 220, 40 + p * 120, 224, "#000") +
           text_at(40 + p * 120, 236, std::to_string(p), "middle");
  }
  const size_t tasks = judged_tasks(report.table);
  const auto& numerics = report.plan.numerics;
  out += curve(best_speeds(report.table, numerics, &SuiteSample::speedup_eager), tasks, "#06c") +
         curve(best_speeds(report.table, numerics, &SuiteSample::speedup_compile), tasks, "#c60");
  return out +
         text_at(280, 254, "p; blue: against eager, orange: against torch.compile", "middle") +
         "</svg>\n";
}

/// The place of a speed-up on the logarithmic axis from 1/8 to 16.
double place(double speed) {
  return 240 + 60 * (std::log2(std::clamp(speed, 0.125, 16.0)) + 3);
}

std::string bar(double y, const std::optional<Measured>& ratio, const char* colour) {
  if (!ratio) return "";
  const double from = std::min(place(1), place(ratio->value));
  const double width = std::fabs(place(ratio->value) - place(1));
  std::string out = "<rect x=\"" + shown(from) + "\" y=\"" + shown(y) + "\" width=\"" +
                    shown(width) + "\" height=\"6\" fill=\"" + colour + "\"/>";
  if (!ratio->interval) return out;
  return out +
         line(place(ratio->interval->low), y + 3, place(ratio->interval->high), y + 3, "#000");
}

std::string bars(const SuiteReport& report) {
  std::string body;
  double y = 24;
  for (const SuiteRow& row : report.table.rows) {
    if (row.scope != SuiteScope::task || row.numerics != report.plan.numerics) continue;
    body += text_at(232, y + 10, row.task, "end");
    if (row.best) {
      body +=
          bar(y, row.best->speedup_eager, "#06c") + bar(y + 7, row.best->speedup_compile, "#c60");
    } else {
      body += text_at(place(1) + 4, y + 10, "none correct", "start");
    }
    y += 20;
  }
  std::string axis;
  for (const double speed : {0.125, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0}) {
    axis += line(place(speed), 18, place(speed), y, speed == 1 ? "#000" : "#ddd") +
            text_at(place(speed), 14, shown(speed), "middle");
  }
  return "<h2>Speed-up of each task's best sample, with its 95 % interval</h2><svg width=\"700\" "
         "height=\"" +
         shown(y + 10) + "\" role=\"img\">" + axis + body + "</svg>\n";
}

std::string figures_row(const SuiteRow& row, const SuiteTable& table) {
  const bool sensitive =
      row.scope == SuiteScope::sensitive || row.scope == SuiteScope::sensitive_level;
  const std::string name =
      row.scope == SuiteScope::task
          ? row.task
          : (row.level.empty() ? "all tasks" : row.level) + (sensitive ? ", sensitive ones" : "");
  std::string out = "<tr class=\"" + std::string{to_string(row.scope)} + "\">" +
                    cell(for_html(name)) + cell(for_html(row.numerics)) +
                    cell(std::to_string(row.samples)) + cell(shown(row.pass_rate));
  for (const int64_t k : table.ks) {
    out += cell(shown(row.pass_at.at(k)));
  }
  for (const SpeedFigures* speeds : {&row.eager, &row.compile}) {
    out += cell(shown(speeds->faster));
    for (const Share& share : speeds->fast) out += cell(shown(share));
    out += cell(speeds->geomean ? shown(*speeds->geomean) : "-");
  }
  const SuiteSample best = row.best.value_or(SuiteSample{});
  for (const auto* one : {&best.candidate_ms, &best.eager_ms, &best.compile_ms, &best.speedup_eager,
                          &best.speedup_compile}) {
    out += cell(ranged(*one));
  }
  return out + cell(for_html(row.trust)) + "</tr>\n";
}

std::string figures(const SuiteReport& report) {
  std::string out =
      "<h2>Figures</h2><p>Shares in percent; times in ms, of the best sample.</p>"
      "<table><tr>";
  std::vector<std::string> names{"task", "numerics", "samples", "pass"};
  for (const int64_t k : report.table.ks) names.push_back(fmt::format("pass@{}", k));
  for (const char* baseline : {"eager", "compile"}) {
    names.push_back(std::string{"&gt; "} + baseline);
    for (const double p : fast_points) names.push_back("fast_" + shown(p));
    names.emplace_back("geomean");
  }
  for (const char* name : {"candidate", "eager", "compile", "x eager", "x compile", "trust"}) {
    names.emplace_back(name);
  }
  for (const std::string& name : names) out += cell(name, "th");
  out += "</tr>\n";
  for (const SuiteRow& row : report.table.rows) {
    if (row.scope != SuiteScope::refused) out += figures_row(row, report.table);
  }
  return out + "</table>\n";
}

std::string failures(const SuiteReport& report) {
  std::string out =
      "<h2>Failures, missing samples and refusals</h2><table><tr><th>task</th><th>numerics</th>"
      "<th>what</th><th class=\"t\">first reason</th></tr>\n";
  for (const SuiteRow& row : report.table.rows) {
    const bool task = row.scope == SuiteScope::task;
    if (task ? row.failures.empty() && row.missing == 0 : row.scope != SuiteScope::refused)
      continue;
    std::string what = task ? "" : "refused";
    if (row.missing > 0) what = fmt::format("missing {} ", row.missing);
    for (const auto& [outcome, count] : row.failures) {
      what += fmt::format("{} {} ", outcome, count);
    }
    out += "<tr>" + cell(for_html(row.task)) + cell(for_html(row.numerics)) + cell(for_html(what)) +
           "<td class=\"t\">" + for_html(row.reason) + "</td></tr>\n";
  }
  return out + "</table>\n";
}

std::string comparison(const SuiteReport& before, const SuiteReport& now) {
  return "<h2>Comparison</h2><pre>" + for_html(to_text(before, now)) + "</pre>\n";
}

}  // namespace

std::string to_html(const SuiteReport& report, const SuiteReport* before) {
  const std::string note = report.one_core ? "; " + one_core_text(report.plan.contract) : "";
  return head +
         fmt::format("<h1>{}</h1><p>{}, {} samples of each task{}</p><pre>{}</pre>\n",
                     for_html(report.plan.suite), for_html(report.run), report.plan.samples,
                     for_html(note), for_html(to_text(report.stack))) +
         curves(report) + bars(report) + figures(report) + failures(report) +
         (before == nullptr ? "" : comparison(*before, report)) + "</body></html>\n";
}

}  // namespace warpsmith::commands
