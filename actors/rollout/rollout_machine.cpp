// SPDX-License-Identifier: Apache-2.0
#include "actors/rollout/rollout_machine.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <stdexcept>

#include "actors/rollout/outcome.hpp"
#include "policy/text/fenced_files.hpp"
#include "policy/text/tool_call_grammar.hpp"
#include "runtime/submission.hpp"
#include "sandbox/workspace/tool_schemas.hpp"
#include "sandbox/workspace/tool_text.hpp"

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

constexpr const char* summary_request =
    "\n\n[The context is nearly full. Call no tool now. Answer with a summary: what you tried, "
    "what was measured, what is in the files, what to do next. You go on with the task and this "
    "summary alone; the files stay.]";

/// The task's prompt with the summary after the user's words, which are its last untrusted text.
policy::MarkedText with_summary(const policy::MarkedText& prompt, const std::string& summary) {
  const std::vector<policy::TextRun>& runs = prompt.runs();
  size_t last = runs.size();
  for (size_t i = 0; i < runs.size(); ++i) last = runs[i].untrusted ? i : last;
  policy::MarkedText text;
  for (size_t i = 0; i < runs.size(); ++i) {
    runs[i].untrusted ? text.add_untrusted(runs[i].text) : text.add(runs[i].text);
    if (i == last) text.add_untrusted("\n\nYour summary of the work so far:\n" + summary);
  }
  return text;
}

/// The calls of one text of agent.scripted_turns.
Result<std::vector<ParsedCall>> scripted_turn(const std::string& text, const AgentConfig& agent) {
  auto turn = policy::parse_turn(text, agent.syntax);
  if (!turn) return fail(ErrorCode::invalid_config, turn.error().message);
  if (turn->calls.empty()) return fail(ErrorCode::invalid_config, "expected a tool call, got none");
  for (const ParsedCall& call : turn->calls) {
    if (std::ranges::find(agent.tools, call.name) != agent.tools.end()) continue;
    return fail(ErrorCode::invalid_config,
                "expected a tool of agent.tools, got \"" + call.name + "\"");
  }
  return std::move(turn->calls);
}

}  // namespace

Result<std::vector<std::vector<ParsedCall>>> scripted_calls(const AgentConfig& agent) {
  std::vector<std::vector<ParsedCall>> script;
  for (const std::string& text : agent.scripted_turns) {
    auto calls = scripted_turn(text, agent);
    if (!calls) {
      return fail(fmt::format("agent.scripted_turns[{}]", script.size()), calls.error());
    }
    script.push_back(std::move(*calls));
  }
  return script;
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
              fmt::format("the prompt leaves no room within {} tokens", setup_->max_tokens));
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
    agent_stopped = !is_summary && restore_turn(segment);
    if (is_summary) ++turns_;
  }
  if (segments.back().action_mask.back() == 0) return begin_turn();
  if (is_summary) return begin_context();  // the process ended before it was recorded
  // No result follows the last turn: the agent had stopped, or a limit had stopped it.
  return stop_acting(!agent_stopped);
}

/// Keeps the calls that a new workspace needs, and those that say which files were judged.
void RolloutMachine::restore_call(const ParsedCall& call) {
  ++tool_calls_;
  const bool judged = call.name == "verify" || call.name == "profile";
  if (sandbox::needs_repeat(call) || (judged && !recorded_best_.hash.empty())) {
    history_.push_back(call);
  }
}

/// Counts a recorded turn and keeps the calls that a new workspace needs. True if the agent ended
/// its work with this turn: by no calls, or by a submission.
bool RolloutMachine::restore_turn(const Segment& segment) {
  ++turns_;
  const std::vector<int32_t> turn = sampled_in(segment);
  const bool was_last = segment.action_mask.back() != 0;
  if (!has_calls(turn) || (was_last && !is_complete(turn))) return false;
  const auto calls = calls_in(turn);
  if (!calls) return false;
  for (const ParsedCall& call : *calls) {
    restore_call(call);
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
  TRY(auto parsed, policy::parse_turn(text, setup_->syntax));
  return std::move(parsed.calls);
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
    results_ = {
        fmt::format("error: the turn was cut after {} tokens; say less in one turn", turn.size())};
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
    // A complete answer of files has used its only turn, so it was not truncated.
    return stop_acting(setup_->answer == AnswerForm::calls || !is_complete(transcript_.turn()));
  }
  for (std::string& result : results_) result = fit_to_budget(result);
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
  return setup_->encode(policy::MarkedText().add_untrusted(result)).size();
}

std::string RolloutMachine::fit_to_budget(const std::string& result) const {
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

/// A summary in the last turn would be of no use.
bool RolloutMachine::is_nearly_full(size_t more) const {
  const double left = static_cast<double>(room()) - static_cast<double>(more);
  return setup_->summary_share > 0 && turns_ + 1 < static_cast<uint64_t>(setup_->max_turns) &&
         left < setup_->summary_share * static_cast<double>(setup_->max_tokens);
}

std::vector<int32_t> RolloutMachine::ask_for_summary() {
  summarising_ = true;
  results_.back() += summary_request;
  std::vector<int32_t> text = results_text();
  if (room() - static_cast<int64_t>(text.size()) >= setup_->result_tokens) return text;
  // Many results at once may use all the remaining room; the agent can ask again.
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
  const std::string summary =
      policy::escape_control_tokens(turn && !turn->words.empty() ? turn->words : whole);
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

bool RolloutMachine::is_using_workspace() const {
  return phase_ == RolloutPhase::running_tool || phase_ == RolloutPhase::freezing ||
         phase_ == RolloutPhase::rebuilding;
}

RolloutCommands RolloutMachine::next_call() {
  if (next_call_ == calls_.size()) return observe();
  phase_ = RolloutPhase::running_tool;
  ++tool_calls_;
  return run_tool();
}

RolloutCommands RolloutMachine::run_tool() {
  if (workspace_gone_) return rebuild();
  if (phase_ == RolloutPhase::freezing && best_ && !has_submitted_) return judge_best();
  ++request_;
  if (phase_ == RolloutPhase::freezing) return {tool_call({"submit", {}})};
  return {tool_call(calls_[next_call_])};
}

ToolCall RolloutMachine::tool_call(const ParsedCall& call) const {
  return {id_, request_, call.name, call.arguments, task_, phase_ == RolloutPhase::rebuilding};
}

/// Repeats the calls that a new workspace needs and ignores the results.
RolloutCommands RolloutMachine::rebuild() {
  workspace_gone_ = false;
  replayed_ = 0;
  if (phase_ != RolloutPhase::rebuilding) after_rebuilding_ = phase_;
  phase_ = RolloutPhase::rebuilding;
  RolloutCommands commands{ReleaseWorkspace{id_}};
  std::ranges::move(replay(), std::back_inserter(commands));
  return commands;
}

RolloutCommands RolloutMachine::replay() {
  if (replayed_ == history_.size()) {
    phase_ = after_rebuilding_;
    return run_tool();
  }
  ++request_;
  return {tool_call(history_[replayed_])};
}

RolloutCommands RolloutMachine::tool_answered(const ToolAnswer& answer) {
  if (answer.turn != request_ || !is_using_workspace()) return {};
  if (phase_ == RolloutPhase::rebuilding) {
    keep_recorded_best(answer);
    ++replayed_;
    return replay();
  }
  failures_ = 0;
  if (answer.needs_sandbox) return needs_judge(answer);
  // Nothing to judge now; an earlier submission may exist.
  if (phase_ == RolloutPhase::freezing) return best_ ? judge_best() : close(nullptr);
  if (sandbox::needs_repeat(calls_[next_call_])) history_.push_back(calls_[next_call_]);
  results_.push_back(answer.text);
  ++next_call_;
  return next_call();
}

RolloutCommands RolloutMachine::needs_judge(const ToolAnswer& answer) {
  const bool is_final = answer.request == Request::final;
  RolloutCommands commands;
  // Sent now, so that the learner's forward passes run while the sandbox judges.
  if (is_final) end_acting(commands);
  phase_ = is_final ? RolloutPhase::judging_final : RolloutPhase::judging_tool;
  judged_ = {task_.task, answer.submission, answer.request};
  commands.emplace_back(judge());
  return commands;
}

EvaluateCall RolloutMachine::judge() {
  return {id_, ++request_, judged_};
}

RolloutCommands RolloutMachine::judged(uint32_t request, const Judgement& judgement) {
  if (!is_expected(request, {RolloutPhase::judging_tool, RolloutPhase::judging_final})) return {};
  if (const auto* failure = std::get_if<InfraFailure>(&judgement)) return failed(request, *failure);
  failures_ = 0;
  const Verdict& verdict = std::get<Verdict>(judgement);
  if (phase_ == RolloutPhase::judging_final) return final_judged(verdict);
  keep_if_best(verdict);
  results_.push_back(sandbox::verdict_text(judged_.want, verdict));
  ++next_call_;
  return next_call();
}

void RolloutMachine::keep_if_best(const Verdict& verdict) {
  const bool ran = judged_.want != Request::compile;
  if (!ran || setup_->unsubmitted == Unsubmitted::newest) return;
  const double rank = rank_of(verdict);
  if (rank == 0 || rank < best_rank_) return;
  best_ = judged_;
  best_rank_ = rank;
}

/// A repeated `verify` or `profile` answers the files that were judged; no sandbox judges them
/// again.
void RolloutMachine::keep_recorded_best(const ToolAnswer& answer) {
  const std::string& hash = recorded_best_.hash;
  if (!answer.needs_sandbox || hash.empty() || best_) return;
  if (source_hash(answer.submission.files) != hash) return;
  best_ = sandbox::EvaluateRequest{task_.task, answer.submission, answer.request};
  best_rank_ = recorded_best_.rank;
}

bool RolloutMachine::has_changed_files() const {
  return std::ranges::any_of(history_, sandbox::changes_files);
}

RolloutCommands RolloutMachine::failed(uint32_t request, const InfraFailure& failure) {
  const bool is_asking = !over() && phase_ != RolloutPhase::waiting_for_admission;
  if (request != request_ || !is_asking) return {};
  if (failure.kind == InfraKind::task_refused || ++failures_ > setup_->infra_retries) {
    if (submitted_) return close_submitted();
    return drop(DropReason::infrastructure, std::string(to_string(phase_)) + ": " +
                                                std::string(to_string(failure.kind)) + ": " +
                                                failure.detail);
  }
  // A call that failed half-way leaves the files in an unknown state.
  if (is_using_workspace()) workspace_gone_ = true;
  seen_before_ = 0;
  return repeat_request();
}

RolloutCommands RolloutMachine::unanswered(uint32_t request, const std::string& why) {
  if (is_expected(request, {RolloutPhase::generating})) return drop(DropReason::no_answer, why);
  return failed(request, {InfraKind::task_refused, why});
}

RolloutCommands RolloutMachine::repeat() {
  // A generator without room took nothing. If it has sampled since, it has lost the session.
  if (!transcript_.turn().empty()) seen_before_ = 0;
  return repeat_request();
}

RolloutCommands RolloutMachine::repeat_request() {
  switch (phase_) {
    case RolloutPhase::generating:
      // All tokens may have arrived without the end of the stream.
      if (credit_ == 0 || is_complete(transcript_.turn())) return end_turn(FinishReason::length);
      return generate(seen_before_);
    case RolloutPhase::rebuilding:
      return workspace_gone_ ? rebuild() : replay();
    case RolloutPhase::running_tool:
    case RolloutPhase::freezing:
      return run_tool();
    case RolloutPhase::judging_tool:
    case RolloutPhase::judging_final:
      return {judge()};
    case RolloutPhase::waiting_for_admission:
    case RolloutPhase::finished:
    case RolloutPhase::dropped:
      return {};
  }
  return {};
}

/// Ends sampling and requests the final verdict, of the best submission or of the files as they
/// are.
RolloutCommands RolloutMachine::stop_acting(bool truncated) {
  truncated_ = truncated;
  if (transcript_.sampled() == 0) {
    return drop(DropReason::no_action_tokens, "nothing was sampled");
  }
  RolloutCommands commands;
  end_acting(commands);
  phase_ = RolloutPhase::freezing;
  // Without a call that changed files there is no solution to request.
  RolloutCommands last = best_ ? judge_best() : has_changed_files() ? run_tool() : close(nullptr);
  std::ranges::move(last, std::back_inserter(commands));
  return commands;
}

RolloutCommands RolloutMachine::judge_best() {
  judged_ = *best_;
  judged_.want = Request::final;
  phase_ = RolloutPhase::judging_final;
  return {judge()};
}

RolloutCommands RolloutMachine::close_submitted() {
  judged_ = submitted_->request;
  return close(&submitted_->verdict);
}

/// Ends the trajectory, after a second final verdict if the agent submitted less than its best.
RolloutCommands RolloutMachine::final_judged(const Verdict& verdict) {
  if (submitted_) {
    const bool better = rank_of(verdict) > rank_of(submitted_->verdict);
    return better ? close(&verdict) : close_submitted();
  }
  const bool is_best = !best_ || rank_of(verdict) >= best_rank_ ||
                       judged_.submission.files == best_->submission.files;
  if (is_best) return close(&verdict);
  submitted_ = Submitted{judged_, verdict};
  return judge_best();
}

void RolloutMachine::end_acting(RolloutCommands& commands) {
  if (transcript_.has_open_segment()) commands.emplace_back(transcript_.take_segment(id_));
  commands.emplace_back(ReleaseSession{id_});
}

RolloutCommands RolloutMachine::close(const Verdict* verdict) {
  Outcome outcome = verdict ? judged_outcome(*verdict, judged_.submission.files, setup_->reward)
                            : empty_outcome(truncated_, setup_->overlong_penalty);
  outcome.turns = turns_;
  outcome.tool_calls = tool_calls_;
  outcome.truncated = truncated_;
  phase_ = RolloutPhase::finished;
  return {Closed{id_, std::move(outcome)}, ReleaseWorkspace{id_}};
}

RolloutCommands RolloutMachine::drop(DropReason reason, const std::string& detail) {
  phase_ = RolloutPhase::dropped;
  return {Dropped{id_, reason, detail}, ReleaseSession{id_}, ReleaseWorkspace{id_}};
}

}  // namespace warpsmith::actors
