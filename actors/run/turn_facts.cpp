// SPDX-License-Identifier: Apache-2.0
#include "actors/run/turn_facts.hpp"

#include <algorithm>
#include <utility>

#include "actors/rollout/outcome.hpp"
#include "policy/text/fenced_files.hpp"
#include "policy/text/tool_call_grammar.hpp"
#include "sandbox/workspace/tool_schemas.hpp"

namespace warpsmith::actors {
namespace {

using Tools = std::vector<ToolSchema>;

void add_calls(const TurnText& turn, const TextModel& text, const Tools& offered,
               policy::TurnFacts& facts) {
  std::vector<ParsedCall> calls;
  if (text.agent.answer == AnswerForm::files) {
    calls = policy::calls_of_files(policy::fenced_files(turn.text));
  } else {
    auto parsed = policy::parse_turn(turn.text, text.agent.syntax);
    facts.invalid = !turn.whole || !parsed;
    if (parsed) calls = std::move(parsed->calls);
  }
  for (ParsedCall& call : calls) {
    facts.invalid = facts.invalid || !sandbox::check_call(call, offered);
    if (call.name == "bash_output") continue;  // waiting for a job is no repetition
    const bool edits = sandbox::changes_files(call);
    facts.calls.push_back({std::move(call), edits});
  }
}

}  // namespace

TurnText turn_text(const Segment& segment, const TextModel& text) {
  std::vector<int32_t> sampled;
  for (size_t i = 0; i < segment.size(); ++i) {
    if (segment.action_mask[i] != 0) sampled.push_back(segment.tokens[i]);
  }
  const bool whole = !sampled.empty() &&
                     std::ranges::find(text.stop_tokens, sampled.back()) != text.stop_tokens.end();
  if (whole) sampled.pop_back();
  return {text.tokenizer->decode(sampled), whole};
}

policy::TrajectoryFacts facts_of(const Trajectory& trajectory, std::span<const VerdictRow> verdicts,
                                 const TextModel& text) {
  const Tools offered = sandbox::tools_named(text.agent.tools).value_or(sandbox::all_tools());
  policy::TrajectoryFacts facts{.task_id = trajectory.task_id, .reward = trajectory.outcome.reward};
  for (const Segment& segment : trajectory.segments) {
    policy::TurnFacts turn;
    add_calls(turn_text(segment, text), text, offered, turn);
    for (const VerdictRow& row : verdicts) {
      if (row.turn != segment.number) continue;
      turn.verdict = std::max(turn.verdict.value_or(0), rank_of(row.verdict));
    }
    facts.tokens += static_cast<int64_t>(segment.size());
    facts.turns.push_back(std::move(turn));
  }
  return facts;
}

}  // namespace warpsmith::actors
