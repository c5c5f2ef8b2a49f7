// SPDX-License-Identifier: Apache-2.0
#include "commands/optimize/optimize_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <vector>

#include "commands/verdict_words.hpp"
#include "runtime/json_text.hpp"
#include "runtime/text.hpp"
#include "sandbox/ingest/mutant_words.hpp"

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

json decision_json(const CandidateDecision& candidate) {
  json comparisons = json::array();
  for (const Comparison& c : candidate.comparisons) comparisons.push_back(comparison_json(c));
  return {{"name", candidate.name},     {"promoted", candidate.promoted},
          {"why", candidate.why},       {"score", candidate.score},
          {"comparisons", comparisons}, {"not_measured", candidate.unmeasured}};
}

/// Without the evidence: the journal contains it for every attempt.
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

/// Every incumbent of every comparison, each once, in the order of their first appearance.
std::vector<std::string> incumbents_of(const Promotion& promotion) {
  std::vector<std::string> out;
  for (const CandidateDecision& one : promotion.decisions) {
    for (const Comparison& c : one.comparisons) {
      if (std::ranges::find(out, c.incumbent) == out.end()) out.push_back(c.incumbent);
    }
  }
  return out;
}

/// "2.00x (1.90 to 2.10)"; "-" if the candidate was not compared with this incumbent on the shape.
std::string factor_text(const CandidateDecision& one, const std::string& shape,
                        const std::string& incumbent) {
  const auto c = std::ranges::find_if(one.comparisons, [&](const Comparison& each) {
    return each.shape == shape && each.incumbent == incumbent;
  });
  if (c == one.comparisons.end()) return "-";
  if (!c->interval) return "not measured";
  return fmt::format("{:.2f}x ({:.2f} to {:.2f})", c->speedup, c->interval->low, c->interval->high);
}

/// The wrong answers that the operator cannot tell from right ones on a shape; empty if none.
std::string weakness_on(const OptimizeReport& report, const std::string& shape) {
  for (const Attempt& attempt : report.candidates) {
    for (const ShapeAttempt& one : attempt.shapes) {
      if (one.shape == shape && !one.verdict.weakness.empty()) return one.verdict.weakness;
    }
  }
  return {};
}

/// How many times as fast each candidate is on each shape as each incumbent; empty if none was
/// timed.
std::string factors_table(const OptimizeReport& report) {
  const std::vector<std::string> incumbents = incumbents_of(report.promotion);
  if (incumbents.empty()) return {};
  std::vector<std::vector<std::string>> rows{{"kernel", "shape"}};
  rows.front().insert(rows.front().end(), incumbents.begin(), incumbents.end());
  for (const CandidateDecision& one : report.promotion.decisions) {
    for (const std::string& shape : report.shapes) {
      std::vector<std::string> row{one.name,
                                   shape + (weakness_on(report, shape).empty() ? "" : " *")};
      for (const std::string& each : incumbents) row.push_back(factor_text(one, shape, each));
      const bool timed = std::any_of(row.begin() + 2, row.end(),
                                     [](const std::string& cell) { return cell != "-"; });
      if (timed) rows.push_back(std::move(row));
    }
  }
  return "times as fast as each incumbent, with the 95 % interval:\n" +
         text_table(std::string(incumbents.size() + 2, 'l'), rows);
}

/// What marked rows of the table mean.
std::string weakness_lines(const OptimizeReport& report) {
  std::string out;
  for (const std::string& one : weaknesses(report)) out += "* " + one + '\n';
  return out;
}

std::string export_text(const OptimizeReport& report) {
  if (!report.exported) {
    return report.export_note.empty() ? "" : "no export: " + report.export_note + '\n';
  }
  const ExportPlace& place = *report.exported;
  return "export: " + place.folder + "\n  test it:   ./warpsmith python " + place.folder +
         "/test_regression.py --time\n  import it: import sys; sys.path.insert(0, \"" +
         place.folder + "\"); import " + place.package + '\n';
}

std::string not_begun_text(const OptimizeReport& report) {
  return std::to_string(report.not_begun) + (report.not_begun == 1 ? " candidate" : " candidates") +
         (report.stopped ? " not judged yet" : " not begun");
}

// --- the diff

using Lines = std::vector<std::string_view>;

Lines lines_of(std::string_view text) {
  Lines lines;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    lines.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

/// common[i][j]: the longest common subsequence of a[i…] and b[j…].
class CommonLines {
 public:
  CommonLines(const Lines& a, const Lines& b)
      : columns_(b.size() + 1), lengths_((a.size() + 1) * columns_) {
    for (size_t i = a.size(); i-- > 0;) {
      for (size_t j = b.size(); j-- > 0;) {
        lengths_[i * columns_ + j] =
            a[i] == b[j] ? at(i + 1, j + 1) + 1 : std::max(at(i + 1, j), at(i, j + 1));
      }
    }
  }
  uint32_t at(size_t i, size_t j) const { return lengths_[i * columns_ + j]; }

 private:
  size_t columns_;
  std::vector<uint32_t> lengths_;
};

void add_line(std::string& out, char mark, std::string_view line) {
  out.append(1, mark).append(line).append(1, '\n');
}

std::string both_in_full(const Lines& a, const Lines& b) {
  std::string out;
  for (const auto line : a) add_line(out, '-', line);
  for (const auto line : b) add_line(out, '+', line);
  return out;
}

}  // namespace

std::string result_line(const OptimizeReport& report) {
  const auto& winner = report.promotion.winner;
  const std::string name = winner ? report.candidates[*winner].name : "";
  if (!report.stopped) return winner ? "promoted: " + name : "nothing better";
  const size_t judged = report.candidates.size();
  return fmt::format("stopped: {} of {} candidates have a verdict; {}", judged,
                     judged + report.left_out.size() + report.not_begun,
                     winner ? "promoted so far: " + name : "none is promoted so far");
}

std::vector<std::string> weaknesses(const OptimizeReport& report) {
  std::vector<std::string> out;
  for (const std::string& shape : report.shapes) {
    const std::string weakness = weakness_on(report, shape);
    if (weakness.empty()) continue;
    out.push_back("on " + shape + " this task cannot tell these wrong answers from right ones: " +
                  sandbox::in_words(weakness));
  }
  return out;
}

std::string to_json(const OptimizeReport& report) {
  json decisions = json::array(), left_out = json::array();
  for (const CandidateDecision& one : report.promotion.decisions) {
    decisions.push_back(decision_json(one));
  }
  for (const LeftOut& one : report.left_out) {
    left_out.push_back({{"name", one.name},
                        {"kind", to_string(one.failure.kind)},
                        {"reason", one.failure.detail}});
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
                        {"asked", report.brain_summary},
                        {"promoted", promoted},
                        {"standings", decisions},
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
  for (const CandidateDecision& one : report.promotion.decisions) {
    out += (one.promoted ? "+ " : "- ") + one.name + ": " + one.why + '\n';
  }
  for (const LeftOut& one : report.left_out) {
    out += "? " + one.name + ": no verdict: " + failure_words(one.failure.kind) + ": " +
           one.failure.detail + '\n';
  }
  out += factors_table(report) + weakness_lines(report);
  if (report.one_core) out += one_core_text(report.contract) + '\n';
  for (const std::string& one : unmeasured_incumbents(report.promotion)) {
    out += "not measured: " + one + '\n';
  }
  if (report.not_begun > 0) out += not_begun_text(report) + '\n';
  if (!report.brain_summary.empty()) out += "asked: " + report.brain_summary + '\n';
  return out + result_line(report) + '\n' + export_text(report);
}

std::string line_diff(std::string_view from, std::string_view to) {
  constexpr size_t most_cells = 4'000'000;
  const Lines a = lines_of(from), b = lines_of(to);
  if ((a.size() + 1) * (b.size() + 1) > most_cells) return both_in_full(a, b);
  const CommonLines common(a, b);
  std::string out;
  size_t i = 0, j = 0;
  while (i < a.size() || j < b.size()) {
    if (i < a.size() && j < b.size() && a[i] == b[j]) {
      add_line(out, ' ', a[i]);
      ++i, ++j;
    } else if (j == b.size() || (i < a.size() && common.at(i + 1, j) >= common.at(i, j + 1))) {
      add_line(out, '-', a[i++]);
    } else {
      add_line(out, '+', b[j++]);
    }
  }
  return out;
}

}  // namespace warpsmith::commands
