// SPDX-License-Identifier: Apache-2.0
// The report of `optimize` as one HTML page.
#include "commands/optimize/optimize_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "commands/output_text.hpp"
#include "commands/verdict_words.hpp"

namespace warpsmith::commands {
namespace {

constexpr const char* page_head =
    "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><title>Optimize</title><style>"
    "body{font:14px sans-serif;margin:2em;max-width:80em}table{border-collapse:collapse}"
    "td,th{padding:2px 8px;text-align:left;border-bottom:1px solid #ddd}pre{overflow:auto}"
    ".a{background:#dfd}.r{background:#fdd}.no{color:#900}</style></head><body>\n";

std::string short_number(double value) {
  return fmt::format("{:.4g}", value);
}

std::string optional_number(const std::optional<double>& value) {
  return value ? short_number(*value) : "-";
}

std::string table_cell(const std::string& text, const char* kind = "td") {
  return std::string("<") + kind + '>' + for_html(text) + "</" + kind + '>';
}

std::string table_head(const std::vector<const char*>& names) {
  std::string out = "<table><tr>";
  for (const char* name : names) out += table_cell(name, "th");
  return out + "</tr>\n";
}

/// The interval on a logarithmic axis from 1/4 to 16, with a mark at 1.
std::string interval_bar(const Comparison& c) {
  if (!c.interval) return "<td>not measured</td>";
  const auto place = [](double speed) {
    return 40 * (std::log2(std::clamp(speed, 0.25, 16.0)) + 2);
  };
  const double from = place(c.interval->low);
  const double width = std::max(1.0, place(c.interval->high) - from);
  return "<td><svg width=\"240\" height=\"12\"><line x1=\"80\" y1=\"0\" x2=\"80\" y2=\"12\" "
         "stroke=\"#000\"/><rect x=\"" +
         short_number(from) + "\" y=\"3\" width=\"" + short_number(width) +
         "\" height=\"6\" fill=\"" + (c.clears ? "#06c" : "#c60") + "\"/></svg></td>";
}

std::string comparison_rows(const CandidateDecision& candidate) {
  std::string out;
  for (const Comparison& c : candidate.comparisons) {
    const std::string range =
        c.interval ? short_number(c.interval->low) + " to " + short_number(c.interval->high) : "-";
    out += "<tr>" + table_cell(candidate.name) + table_cell(c.shape) + table_cell(c.incumbent) +
           table_cell(short_number(c.speedup)) + table_cell(range) + interval_bar(c) +
           table_cell(c.clears ? "yes" : "no") + "</tr>\n";
  }
  return out;
}

std::string comparisons_section(const OptimizeReport& report) {
  std::string out =
      "<h2>Speed-ups with their 95 % intervals</h2><p>Needed of the low end: " +
      short_number(1 + report.margin) + ". The axis is logarithmic; the line marks 1.</p>" +
      table_head({"candidate", "shape", "against", "times as fast", "interval", "", "clears"});
  for (const CandidateDecision& one : report.promotion.decisions) out += comparison_rows(one);
  out += "</table>\n";
  for (const std::string& one : weaknesses(report)) {
    out += "<p class=\"no\">Note: " + for_html(one) + ".</p>\n";
  }
  for (const std::string& one : unmeasured_incumbents(report.promotion)) {
    out += "<p class=\"no\">Not measured: " + for_html(one) + ".</p>\n";
  }
  return out;
}

std::string candidates_section(const OptimizeReport& report) {
  std::string out = "<h2>Candidates</h2>" + table_head({"candidate", "promoted", "why"});
  for (const CandidateDecision& one : report.promotion.decisions) {
    out += "<tr>" + table_cell(one.name) + table_cell(one.promoted ? "yes" : "no") +
           table_cell(one.why) + "</tr>\n";
  }
  for (const LeftOut& one : report.left_out) {
    out += "<tr>" + table_cell(one.name) + table_cell("no verdict") +
           table_cell(failure_words(one.failure.kind) + ": " + one.failure.detail) + "</tr>\n";
  }
  out += "</table>\n";
  if (report.not_begun == 0) return out;
  return fmt::format("{}<p>Candidates that were not judged: {}.</p>\n", out, report.not_begun);
}

/// Times, rates and the roofline of one attempt.
std::string profile_rows(const Attempt& attempt) {
  std::string out;
  for (const ShapeAttempt& one : attempt.shapes) {
    const ShapeResult* t = one.times();
    const ShapeResult times = t == nullptr ? ShapeResult{} : *t;
    const bool known = times.roofline_ms && times.candidate_ms && *times.candidate_ms > 0;
    out += "<tr>" + table_cell(attempt.name) + table_cell(one.shape) +
           table_cell(class_words(one.verdict)) +
           table_cell(std::string(to_string(one.verdict.trust)));
    for (const auto* value :
         {&times.candidate_ms, &times.eager_ms, &times.compile_ms, &times.roofline_ms}) {
      out += table_cell(optional_number(*value));
    }
    out += table_cell(known ? short_number(100 * *times.roofline_ms / *times.candidate_ms) : "-") +
           table_cell(optional_number(times.gbytes_per_s)) +
           table_cell(optional_number(times.gflops_per_s)) +
           table_cell(optional_number(times.worst_error)) + "</tr>\n";
  }
  return out;
}

std::string profile_section(const OptimizeReport& report) {
  std::string out =
      "<h2>Profile and roofline</h2><p>" +
      (report.one_core ? for_html(one_core_text(report.contract)) + ". " : "") +
      "Times in ms. The roofline is the time that the reference's "
      "bytes and operations take at this machine's measured rates. An error of 1 is the "
      "bound.</p>" +
      table_head({"kernel", "shape", "verdict", "trust", "kernel ms", "eager ms", "compile ms",
                  "roofline ms", "% of roofline", "GB/s", "GFLOP/s", "error / bound"});
  for (const Attempt& one : report.user_kernels) out += profile_rows(one);
  for (const Attempt& one : report.candidates) out += profile_rows(one);
  return out + "</table>\n";
}

std::string kernels_section(const OptimizeReport& report) {
  if (report.profile.text.empty()) return "";
  return "<h2>What ran: the profile of the promoted kernel</h2><pre>" +
         for_html(report.profile.text) + "</pre>\n";
}

std::string diff_section(const OptimizeReport& report) {
  if (report.diff.empty()) return "";
  std::string out = "<h2>Difference to the runner-up, " + for_html(report.runner_up) + "</h2><pre>";
  std::string_view rest = report.diff;
  while (!rest.empty()) {
    const size_t end = std::min(rest.find('\n'), rest.size());
    const std::string_view line = rest.substr(0, end);
    const char* kind = line.starts_with('+') ? "a" : line.starts_with('-') ? "r" : "";
    out += std::string("<span class=\"") + kind + "\">" + for_html(line) + "</span>\n";
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return out + "</pre>\n";
}

std::string evidence_section(const Attempt& promoted) {
  std::string out = "<h2>Evidence</h2><p>Found in " + for_html(promoted.origin) + ".</p>";
  for (const ShapeAttempt& one : promoted.shapes) {
    out += "<details><summary>" + for_html(one.shape) + ": " + for_html(one.verdict.feedback) +
           "</summary><pre>" + for_html(one.verdict.evidence) + "</pre></details>\n";
  }
  return out;
}

std::string result_paragraph(const OptimizeReport& report) {
  const auto& winner = report.promotion.winner;
  if (report.stopped) return "<p class=\"no\">" + for_html(result_line(report)) + ".</p>\n";
  if (!winner) return "<p class=\"no\">Nothing better than the incumbents.</p>\n";
  std::string out = "<p>Promoted: <b>" + for_html(report.candidates[*winner].name) + "</b>.";
  if (report.exported) {
    out += " Export: <code>" + for_html(report.exported->folder) + "</code>, package <code>" +
           for_html(report.exported->package) + "</code>.";
  }
  if (!report.export_note.empty()) out += " No export: " + for_html(report.export_note) + '.';
  return out + "</p>\n";
}

}  // namespace

std::string to_html(const OptimizeReport& report) {
  const auto& winner = report.promotion.winner;
  return page_head + ("<h1>" + for_html(report.operator_file)) + "</h1>\n" +
         result_paragraph(report) +
         (report.brain_summary.empty()
              ? ""
              : "<p>Asked: " + for_html(report.brain_summary) + ".</p>\n") +
         candidates_section(report) + comparisons_section(report) + profile_section(report) +
         kernels_section(report) + diff_section(report) +
         (winner ? evidence_section(report.candidates[*winner]) : "") + "<h2>Machine</h2><pre>" +
         for_html(report.stack) + "</pre></body></html>\n";
}

}  // namespace warpsmith::commands
