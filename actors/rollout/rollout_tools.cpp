// SPDX-License-Identifier: Apache-2.0
// The second half of the rollout machine: calls, verdicts, failures and the end.
#include <algorithm>

#include "actors/rollout/outcome.hpp"
#include "actors/rollout/rollout_machine.hpp"
#include "sandbox/workspace/source_hash.hpp"
#include "sandbox/workspace/tool_schemas.hpp"
#include "sandbox/workspace/verdict_text.hpp"

namespace warpsmith::actors {

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
  // No solution to judge, unless there was one before.
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
  judged_ = {id_, task_.task, answer.submission, answer.request};
  commands.emplace_back(judge());
  return commands;
}

JudgeCommand RolloutMachine::judge() {
  return {++request_, judged_};
}

RolloutCommands RolloutMachine::judged(uint32_t request, const Judgement& judgement) {
  if (!is_expected(request, {RolloutPhase::judging_tool, RolloutPhase::judging_final})) return {};
  if (const auto* failure = std::get_if<InfraFailure>(&judgement)) return failed(request, *failure);
  failures_ = 0;
  const Verdict& verdict = std::get<Verdict>(judgement);
  if (phase_ == RolloutPhase::judging_final) return final_judged(verdict);
  keep_if_best(verdict);
  results_.push_back(sandbox::verdict_text(judged_.request, verdict));
  ++next_call_;
  return next_call();
}

void RolloutMachine::keep_if_best(const Verdict& verdict) {
  const bool ran = judged_.request != Request::compile;
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
  if (sandbox::source_hash(answer.submission.files) != hash) return;
  best_ = EvaluateCall{id_, task_.task, answer.submission, answer.request};
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
      // All tokens may have arrived, but not the end of the stream.
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
  judged_.request = Request::final;
  phase_ = RolloutPhase::judging_final;
  return {judge()};
}

RolloutCommands RolloutMachine::close_submitted() {
  judged_ = submitted_->call;
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
