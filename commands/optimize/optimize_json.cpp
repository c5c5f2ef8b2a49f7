// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>

#include "commands/optimize/optimize_report.hpp"
#include "runtime/json_text.hpp"

namespace warpsmith::commands {
namespace {

using nlohmann::json;

json comparison_json(const Comparison& c) {
  return {{"shape", c.shape},
          {"incumbent", c.incumbent},
          {"speedup", c.speedup},
          {"interval", c.interval ? json{c.interval->low, c.interval->high} : json(nullptr)},
          {"clears", c.clears}};
}

json standing_json(const Standing& standing) {
  json comparisons = json::array();
  for (const Comparison& c : standing.comparisons) comparisons.push_back(comparison_json(c));
  return {{"name", standing.name},      {"promoted", standing.promoted},
          {"why", standing.why},        {"score", standing.score},
          {"comparisons", comparisons}, {"not_measured", standing.unmeasured}};
}

/// Without the evidence: the journal holds it for every attempt.
json summary_json(const Attempt& attempt) {
  json out = json::parse(to_json_line(attempt));
  for (json& shape : out["shapes"]) shape.erase("evidence");
  return out;
}

json summaries_json(const std::vector<Attempt>& attempts) {
  json out = json::array();
  for (const Attempt& attempt : attempts) out.push_back(summary_json(attempt));
  return out;
}

json json_or_null(const std::string& text) {
  json out = json::parse(text, nullptr, /*allow_exceptions=*/false);
  return out.is_discarded() ? json(nullptr) : out;
}

std::string not_begun_text(const OptimizeReport& report) {
  return std::to_string(report.not_begun) + (report.not_begun == 1 ? " candidate" : " candidates") +
         (report.stopped ? " not judged yet" : " not begun");
}

}  // namespace

std::string decision(const OptimizeReport& report) {
  const auto& winner = report.promotion.winner;
  const std::string name = winner ? report.candidates[*winner].name : "";
  if (!report.stopped) return winner ? "promoted: " + name : "nothing better";
  const size_t judged = report.candidates.size();
  return "stopped: " + std::to_string(judged) + " of " +
         std::to_string(judged + report.left_out.size() + report.not_begun) +
         " candidates have a verdict; " +
         (winner ? "promoted so far: " + name : "none is promoted so far");
}

std::string to_json(const OptimizeReport& report) {
  json standings = json::array(), left_out = json::array();
  for (const Standing& one : report.promotion.standings) standings.push_back(standing_json(one));
  for (const LeftOut& one : report.left_out) {
    left_out.push_back({{"name", one.name}, {"reason", one.reason}});
  }
  const auto& winner = report.promotion.winner;
  json promoted;
  if (winner) promoted = json::parse(to_json_line(report.candidates[*winner]));
  const json stack = json_or_null(report.stack);
  return json_text(json{{"operator", report.operator_file},
                        {"contract", report.contract},
                        {"numerics", report.numerics},
                        {"margin", report.margin},
                        {"shapes", report.shapes},
                        {"asked", report.asked},
                        {"promoted", promoted},
                        {"standings", standings},
                        {"candidates", summaries_json(report.candidates)},
                        {"user_kernels", summaries_json(report.user_kernels)},
                        {"not_judged", left_out},
                        {"not_begun", report.not_begun},
                        {"stopped", report.stopped},
                        {"runner_up", report.runner_up},
                        {"diff", report.diff},
                        {"profile", json_or_null(report.profile.json)},
                        {"profile_text", report.profile.text},
                        {"export_note", report.export_note},
                        {"stack", stack}},
                   1) +
         '\n';
}

std::string to_text(const OptimizeReport& report) {
  std::string out;
  for (const Standing& one : report.promotion.standings) {
    out += (one.promoted ? "+ " : "- ") + one.name + ": " + one.why + '\n';
  }
  for (const LeftOut& one : report.left_out) {
    out += "? " + one.name + ": no verdict: " + one.reason + '\n';
  }
  for (const std::string& one : unmeasured_incumbents(report.promotion)) {
    out += "not measured: " + one + '\n';
  }
  if (report.not_begun > 0) out += not_begun_text(report) + '\n';
  if (!report.asked.empty()) out += "asked: " + report.asked + '\n';
  return out + decision(report) + '\n';
}

}  // namespace warpsmith::commands
