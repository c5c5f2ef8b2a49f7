// SPDX-License-Identifier: Apache-2.0
#include "commands/runs/trajectory_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "commands/output_text.hpp"
#include "runtime/text.hpp"

namespace warpsmith::commands {
namespace {

std::vector<std::string> cells_of(const TrajectoryRow& row) {
  const Outcome& o = *row.outcome;
  return {std::to_string(row.id),           row.task_id,
          number_text(o.reward, 2),         std::string{verdict_name(o)},
          std::to_string(o.turns),          std::to_string(o.tool_calls),
          std::to_string(row.tokens),       number_text(o.speedup_eager, 2),
          number_text(o.speedup_compile, 2)};
}

/// The tokens of a segment whose mask is `sampled`, as text.
std::string part_of(const Segment& segment, bool sampled, const TextModel& text) {
  std::vector<int32_t> tokens;
  for (size_t i = 0; i < segment.size(); ++i) {
    if ((segment.action_mask[i] != 0) == sampled) tokens.push_back(segment.tokens[i]);
  }
  return text.tokenizer->decode(tokens);
}

std::string block(const std::string& title, const std::string& content) {
  return "--- " + title + "\n" + content + (content.ends_with('\n') ? "" : "\n");
}

/// With the folder of the judged source, inside the run's folder.
std::string verdict_lines(std::span<const VerdictRow> verdicts, uint32_t turn) {
  std::string lines;
  for (const VerdictRow& row : verdicts) {
    if (row.turn != turn) continue;
    const Verdict& v = row.verdict;
    lines += fmt::format("--- {}verdict: {} | {}", row.final ? "final " : "", to_string(v.outcome),
                         v.feedback.substr(0, v.feedback.find('\n')));
    if (!v.submission_hash.empty()) lines += " | submissions/" + v.submission_hash;
    lines += '\n';
  }
  return lines;
}

bool samples_nothing(const Segment& segment) {
  return std::ranges::find(segment.action_mask, uint8_t{1}) == segment.action_mask.end();
}

std::string turn_lines(const Segment& segment, std::span<const VerdictRow> verdicts,
                       const TextModel& text) {
  const std::string number = std::to_string(segment.number + 1);
  const std::string context = part_of(segment, false, text);
  const std::string sampled = block("turn " + number + ": sampled", part_of(segment, true, text));
  if (context.size() > 0 && samples_nothing(segment))
    return block("context after a summary", context);
  const std::string judged = verdict_lines(verdicts, segment.number);
  // Segment 0 begins with the prompt; later ones end with what answers the turn.
  if (segment.number == 0) {
    const auto first = std::ranges::find(segment.action_mask, uint8_t{1});
    const auto length = static_cast<size_t>(first - segment.action_mask.begin());
    const std::span<const int32_t> all{segment.tokens};
    const std::string prompt = text.tokenizer->decode(all.first(length));
    const std::string rest = context.substr(std::min(prompt.size(), context.size()));
    return block("prompt", prompt) + sampled + judged +
           (rest.empty() ? "" : block("results", rest));
  }
  return sampled + judged + (context.empty() ? "" : block("results", context));
}

}  // namespace

std::vector<TrajectoryRow> selected(std::vector<TrajectoryRow> rows,
                                    const TrajectorySelection& selection) {
  using Order = TrajectorySelection::Order;
  if (!selection.task.empty()) {
    std::erase_if(rows, [&](const TrajectoryRow& row) { return row.task_id != selection.task; });
  }
  const auto reward = [](const TrajectoryRow& row) { return row.outcome->reward; };
  if (selection.order == Order::best)
    std::ranges::stable_sort(rows, std::ranges::greater{}, reward);
  if (selection.order == Order::worst) std::ranges::stable_sort(rows, std::ranges::less{}, reward);
  if (rows.size() <= selection.limit) return rows;
  const auto limit = static_cast<std::ptrdiff_t>(selection.limit);
  if (selection.order == Order::admission) {
    rows.erase(rows.begin(), rows.end() - limit);
  } else {
    rows.erase(rows.begin() + limit, rows.end());
  }
  return rows;
}

std::string list_text(std::span<const TrajectoryRow> rows) {
  std::vector<std::vector<std::string>> cells{
      {"id", "task", "reward", "verdict", "turns", "calls", "tokens", "/eager", "/compile"}};
  for (const TrajectoryRow& row : rows) cells.push_back(cells_of(row));
  return for_terminal(text_table("rlrlrrrrr", cells));
}

std::string transcript(const Trajectory& trajectory, std::span<const VerdictRow> verdicts,
                       const TextModel& text) {
  const Outcome& o = trajectory.outcome;
  std::string out = fmt::format("trajectory {}, task {}\n", trajectory.id, trajectory.task_id);
  for (const Segment& segment : trajectory.segments) out += turn_lines(segment, verdicts, text);
  out +=
      fmt::format("--- outcome: reward {:.2f}, {}, {} turns, {} calls{}\n", o.reward,
                  verdict_name(o), o.turns, o.tool_calls, o.truncated ? ", ended by a limit" : "");
  return for_terminal(out);
}

}  // namespace warpsmith::commands
