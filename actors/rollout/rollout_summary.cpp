// SPDX-License-Identifier: Apache-2.0
// The third part of the rollout machine: a summary in place of a context that is nearly full.
#include "actors/rollout/rollout_machine.hpp"
#include "policy/text/tool_call_grammar.hpp"

namespace warpsmith::actors {
namespace {

constexpr const char* summary_request =
    "\n\n[The context is nearly full. Call no tool now. Answer with a summary: what you tried, "
    "what "
    "was measured, what is in the files, what to do next. You go on with the task and this summary "
    "alone; the files stay.]";

/// The task's prompt with the summary behind the user's words, which are its last foreign text.
policy::MarkedText with_summary(const policy::MarkedText& prompt, const std::string& summary) {
  const std::vector<policy::TextRun>& runs = prompt.runs();
  size_t last = runs.size();
  for (size_t i = 0; i < runs.size(); ++i) last = runs[i].foreign ? i : last;
  policy::MarkedText text;
  for (size_t i = 0; i < runs.size(); ++i) {
    runs[i].foreign ? text.add_foreign(runs[i].text) : text.add(runs[i].text);
    if (i == last) text.add_foreign("\n\nYour summary of the work so far:\n" + summary);
  }
  return text;
}

}  // namespace

/// A summary as the last turn would serve nothing.
bool RolloutMachine::is_nearly_full(size_t more) const {
  const double left = static_cast<double>(room()) - static_cast<double>(more);
  return setup_->summary_share > 0 && turns_ + 1 < static_cast<uint64_t>(setup_->max_turns) &&
         left < setup_->summary_share * static_cast<double>(setup_->max_tokens);
}

std::vector<int32_t> RolloutMachine::ask_for_summary() {
  summarising_ = true;
  const std::string last = results_.back();
  results_.back() += summary_request;
  std::vector<int32_t> text = results_text();
  if (room() - static_cast<int64_t>(text.size()) >= setup_->result_tokens) return text;
  // Many results at once may take all the room; the agent can ask again.
  for (std::string& result : results_) result = "[left out: the context is full]";
  results_.back() += summary_request;
  return results_text();
}

bool RolloutMachine::asks_for_summary(const Segment& segment) const {
  if (setup_->summary_share == 0 || segment.action_mask.back() != 0) return false;
  const std::string text = setup_->decode(segment.tokens);
  const std::string end =
      std::string{summary_request} + "\n</tool_response>" + setup_->frame.results.after;
  return text.ends_with(end + setup_->frame.start);
}

RolloutCommands RolloutMachine::begin_context() {
  const std::string whole = text_of(transcript_.turn());
  const auto turn = policy::parse_turn(whole, setup_->syntax);
  const std::string summary = policy::defused(turn && !turn->words.empty() ? turn->words : whole);
  const std::vector<int32_t> prompt = setup_->encode(with_summary(prompt_, summary));
  const double most = (1 - setup_->summary_share) * static_cast<double>(setup_->max_tokens);
  if (static_cast<double>(prompt.size()) > most) return stop_acting(true);
  RolloutCommands commands;
  if (transcript_.has_open_segment()) commands.emplace_back(transcript_.take_segment(id_));
  transcript_.begin_context(prompt);
  ++contexts_;
  commands.emplace_back(transcript_.take_segment(id_));
  seen_ = seen_before_ = 0;
  for (RolloutCommand& command : begin_turn()) commands.push_back(std::move(command));
  return commands;
}

}  // namespace warpsmith::actors
