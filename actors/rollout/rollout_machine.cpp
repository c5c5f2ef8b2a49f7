// SPDX-License-Identifier: Apache-2.0
// Admission, turns and tokens; rollout_tools.cpp handles calls, verdicts and failures,
// rollout_summary.cpp a context that is full.
#include "actors/rollout/rollout_machine.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <stdexcept>

#include "policy/text/fenced_files.hpp"
#include "policy/text/tool_call_grammar.hpp"
#include "sandbox/workspace/tool_schemas.hpp"
#include "sandbox/workspace/truncate.hpp"

namespace warpsmith::actors {
namespace {

void append(RolloutCommands& commands, RolloutCommands more) {
  std::ranges::move(more, std::back_inserter(commands));
}

/// The sampled tokens of a recorded turn.
std::vector<int32_t> sampled_in(const Segment& segment) {
  std::vector<int32_t> tokens;
  for (size_t i = 0; i < segment.size(); ++i) {
    if (segment.action_mask[i] != 0) tokens.push_back(segment.tokens[i]);
  }
  return tokens;
}

}  // namespace

std::string_view to_string(RolloutPhase phase) noexcept {
  static constexpr std::array<std::string_view, 9> names{
      "waiting_for_admission", "generating",   "rebuilding",
      "running_tool",          "judging_tool", "freezing",
      "judging_final",         "finished",     "dropped"};
  const auto index = static_cast<size_t>(phase);
  return index < names.size() ? names[index] : "unknown";
}

RolloutMachine::RolloutMachine(std::shared_ptr<const RolloutSetup> setup, PreparedTask task,
                               policy::MarkedText prompt)
    : setup_(std::move(setup)), task_(std::move(task)), prompt_(std::move(prompt)) {}

bool RolloutMachine::is_expected(uint32_t request,
                                 std::initializer_list<RolloutPhase> phases) const {
  return request == request_ && std::ranges::find(phases, phase_) != phases.end();
}

int64_t RolloutMachine::room() const {
  return setup_->max_tokens - static_cast<int64_t>(transcript_.tokens().size());
}

RolloutCommands RolloutMachine::admitted(const Admission& admission) {
  if (phase_ != RolloutPhase::waiting_for_admission) return {};
  if (!admission.granted) {
    phase_ = RolloutPhase::dropped;
    return {};
  }
  id_ = admission.trajectory;
  step_ = admission.version.step;
  workspace_gone_ = admission.resumed;
  if (setup_->unsubmitted == Unsubmitted::best) recorded_best_ = admission.best;
  if (!admission.segments.empty()) return resume(admission.segments);
  transcript_.add_masked(setup_->encode(prompt_));
  if (room() > 0) return begin_turn();
  return drop(DropReason::too_long,
              "the prompt leaves no room within " + std::to_string(setup_->max_tokens) + " tokens");
}

RolloutCommands RolloutMachine::resume(std::span<const Segment> segments) {
  if (!transcript_.restore(segments)) {
    return drop(DropReason::infrastructure, "the recorded segments are not 0, 1, … n − 1");
  }
  bool agent_stopped = false;
  bool is_summary = false;
  for (const Segment& segment : segments) {
    if (segment.number > 0 && begins_context(segment, segments[0])) {
      ++contexts_;
      continue;
    }
    is_summary = std::exchange(summarising_, asks_for_summary(segment));
    agent_stopped = !is_summary && recall(segment);
    if (is_summary) ++turns_;
  }
  if (segments.back().action_mask.back() == 0) return begin_turn();
  if (is_summary) return begin_context();  // the process ended before it was recorded
  // No result follows the last turn: the agent had stopped, or a limit had stopped it.
  return stop_acting(!agent_stopped);
}

/// Keeps the calls that a new workspace needs, and those that say which files were judged.
void RolloutMachine::recall_call(const ParsedCall& call) {
  ++tool_calls_;
  const bool judged = call.name == "verify" || call.name == "profile";
  if (sandbox::needs_repeat(call) || (judged && !recorded_best_.hash.empty())) {
    history_.push_back(call);
  }
}

/// Counts a recorded turn and keeps the calls that a new workspace needs. True if the agent ended
/// its work with this turn: by no calls, or by a submission.
bool RolloutMachine::recall(const Segment& segment) {
  ++turns_;
  const std::vector<int32_t> turn = sampled_in(segment);
  const bool was_last = segment.action_mask.back() != 0;
  if (!has_calls(turn) || (was_last && !is_complete(turn))) return false;
  const auto calls = calls_in(turn);
  if (!calls) return false;
  for (const ParsedCall& call : *calls) {
    recall_call(call);
    has_submitted_ = was_last && call.name == "submit" && has_changed_files();
    if (has_submitted_) return true;  // the calls after it never ran
  }
  return calls->empty();
}

RolloutCommands RolloutMachine::begin_turn() {
  if (turns_ >= static_cast<uint64_t>(setup_->max_turns) || room() <= 0) return stop_acting(true);
  phase_ = RolloutPhase::generating;
  credit_ = std::min(setup_->max_turn_tokens, room());
  return generate(seen_);
}

/// Requests tokens from a generator that has the first `seen` tokens.
RolloutCommands RolloutMachine::generate(size_t seen) {
  GenerateCall call;
  call.session = id_;
  call.turn = ++request_;
  call.whole = seen == 0;
  const std::vector<int32_t>& all = transcript_.tokens();
  call.new_tokens.assign(all.begin() + static_cast<std::ptrdiff_t>(seen), all.end());
  call.credit = static_cast<int32_t>(credit_);
  call.step = step_;
  seen_before_ = seen;
  seen_ = all.size();
  return {std::move(call)};
}

RolloutCommands RolloutMachine::tokens(const TokenChunk& chunk) {
  if (!is_expected(chunk.turn, {RolloutPhase::generating})) return {};
  const auto count = static_cast<int64_t>(chunk.tokens.size());
  if (count > credit_) throw std::invalid_argument("token chunk: more tokens than the credit");
  transcript_.add_sampled(chunk);
  credit_ -= count;
  seen_ = transcript_.tokens().size();
  if (count > 0) failures_ = 0;
  if (chunk.finish == FinishReason::none) return {};
  return end_turn(chunk.finish);
}

bool RolloutMachine::is_complete(std::span<const int32_t> turn) const {
  return !turn.empty() &&
         std::ranges::find(setup_->stop_tokens, turn.back()) != setup_->stop_tokens.end();
}

std::string RolloutMachine::text_of(std::span<const int32_t> turn) const {
  return setup_->decode(is_complete(turn) ? turn.first(turn.size() - 1) : turn);
}

bool RolloutMachine::has_calls(std::span<const int32_t> turn) const {
  return is_complete(turn) || !setup_->script.empty();
}

Result<std::vector<ParsedCall>> RolloutMachine::calls_in(std::span<const int32_t> turn) const {
  if (!setup_->script.empty()) {
    return setup_->script[std::min<size_t>(turns_, setup_->script.size()) - 1];
  }
  const std::string text = text_of(turn);
  if (setup_->answer == AnswerForm::files)
    return policy::calls_of_files(policy::fenced_files(text));
  auto parsed = policy::parse_turn(text, setup_->syntax);
  if (!parsed) return tl::unexpected(std::move(parsed.error()));
  return std::move(parsed->calls);
}

RolloutCommands RolloutMachine::end_turn(FinishReason finish) {
  const std::span<const int32_t> turn = transcript_.turn();
  if (finish == FinishReason::stop_token && !is_complete(turn)) {
    throw std::invalid_argument("token chunk: the turn's stop token was not streamed");
  }
  ++turns_;
  failures_ = 0;
  calls_.clear();
  results_.clear();
  next_call_ = 0;
  if (std::exchange(summarising_, false)) return begin_context();
  if (!is_complete(turn) && room() <= 0) return stop_acting(true);
  if (!has_calls(turn)) {
    results_ = {"error: the turn was cut after " + std::to_string(turn.size()) +
                " tokens; say less in one turn"};
    return observe();
  }
  auto calls = calls_in(turn);
  if (!calls) {
    results_ = {"error: malformed tool call: " + calls.error().message};
    return observe();
  }
  if (calls->empty()) return stop_acting(false);  // the agent has finished
  calls_ = std::move(*calls);
  return next_call();
}

/// Appends the results of the calls and begins the next turn, if the limits leave room for both.
RolloutCommands RolloutMachine::observe() {
  if (turns_ >= static_cast<uint64_t>(setup_->max_turns)) {
    // A whole answer of files has used its one turn; nothing cut it short.
    return stop_acting(setup_->answer == AnswerForm::calls || !is_complete(transcript_.turn()));
  }
  for (std::string& result : results_) result = fitted(result);
  std::vector<int32_t> text = results_text();
  if (is_nearly_full(text.size())) text = ask_for_summary();
  if (room() <= static_cast<int64_t>(text.size())) return stop_acting(true);
  transcript_.add_masked(text);
  RolloutCommands commands{transcript_.take_segment(id_)};
  append(commands, begin_turn());
  return commands;
}

std::vector<int32_t> RolloutMachine::results_text() const {
  policy::MarkedText results(is_complete(transcript_.turn()) ? "" : setup_->frame.end);
  results.add(policy::tool_responses(results_, setup_->frame));
  return setup_->encode(results);
}

size_t RolloutMachine::token_count(const std::string& result) const {
  return setup_->encode(policy::MarkedText().add_foreign(result)).size();
}

std::string RolloutMachine::fitted(const std::string& result) const {
  const auto budget = static_cast<size_t>(setup_->result_tokens);
  const size_t count = token_count(result);
  if (count <= budget) return result;
  size_t bytes = result.size() * budget / count;
  std::string cut = sandbox::truncate_result(result, bytes);
  while (bytes > 0 && token_count(cut) > budget) {
    bytes = bytes * 3 / 4;
    cut = sandbox::truncate_result(result, bytes);
  }
  return cut;
}

}  // namespace warpsmith::actors
