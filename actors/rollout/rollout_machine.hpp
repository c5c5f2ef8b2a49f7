// SPDX-License-Identifier: Apache-2.0
// Pure: one trajectory as a state machine. It takes events and returns commands, which the rollout
// actor sends to the other actors.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "actors/protocol/messages.hpp"
#include "actors/rollout/transcript.hpp"
#include "policy/text/chat_format.hpp"
#include "runtime/config/rollout_config.hpp"
#include "runtime/describe.hpp"
#include "runtime/model_turn.hpp"
#include "runtime/result.hpp"

namespace warpsmith::actors {

/// The phase of a trajectory; the comment says what comes next.
enum class RolloutPhase : uint8_t {
  waiting_for_admission,  // the ledger grants it
  generating,             // a generator streams tokens up to the end of the turn
  rebuilding,             // a tool executor repeats recorded calls in a new workspace
  running_tool,           // a tool executor answers a text or a submission to judge
  judging_tool,           // a sandbox answers a verdict for compile, verify or profile
  freezing,               // a tool executor answers solution/ of an agent that did not submit
  judging_final,          // a sandbox answers the verdict that earns the reward
  finished,               // nothing: the outcome is sent
  dropped,                // nothing: the reason is sent
};
constexpr auto names_of(RolloutPhase) {
  return std::to_array<std::string_view>({"waiting_for_admission", "generating", "rebuilding",
                                          "running_tool", "judging_tool", "freezing",
                                          "judging_final", "finished", "dropped"});
}

/// The settings shared by all trajectories of a run.
struct RolloutSetup {
  /// The two directions of the tokenizer; special tokens stand for their texts.
  std::function<std::vector<int32_t>(const policy::MarkedText&)> encode;
  std::function<std::string(std::span<const int32_t>)> decode;
  std::vector<int32_t> stop_tokens;  // that end a turn; the generator streams them too
  policy::ChatFrame frame;           // how the model's family writes messages

  AnswerForm answer = AnswerForm::calls;  // files: one turn, whose files are written and submitted
  ToolSyntax syntax = ToolSyntax::xml;
  /// The calls of turn n (later turns use the last entry), regardless of the sampled tokens; empty:
  /// the sampled calls.
  std::vector<std::vector<ParsedCall>> script;
  int64_t max_turns = 16;
  int64_t max_tokens = 2048;       // of a context, prompt and results included
  int64_t max_turn_tokens = 1024;  // sampled in one turn
  int64_t result_tokens = 512;     // a longer result is cut in the middle
  double summary_share = 0;        // of max_tokens: with less left, a summary; 0: never
  uint32_t infra_retries = 2;      // per step; then the trajectory is dropped
  RewardRule reward = RewardRule::milestone;
  Unsubmitted unsubmitted = Unsubmitted::best;
  double overlong_penalty = 0;  // subtracted from −1 if a limit ended it without a submission
};

/// The calls of each text of agent.scripted_turns, which a rehearsal with random weights runs.
/// `invalid_config` names a text that is malformed, has no call, or calls a tool that is not in
/// agent.tools.
Result<std::vector<std::vector<ParsedCall>>> scripted_calls(const AgentConfig& agent);

struct ReleaseSession {
  TrajectoryId trajectory = 0;
};
struct ReleaseWorkspace {
  TrajectoryId trajectory = 0;
};

/// The first three are requests to a generator, a tool executor and a sandbox, the next three
/// records for the ledger; the last two release the trajectory's session and workspace.
using RolloutCommand = std::variant<GenerateCall, ToolCall, EvaluateCall, Segment, Closed, Dropped,
                                    ReleaseSession, ReleaseWorkspace>;
using RolloutCommands = std::vector<RolloutCommand>;

/// Every request has a number (the field `turn` of GenerateCall, TokenChunk, ToolCall,
/// ToolAnswer and EvaluateCall). At most one request is in flight; answers with another number are
/// ignored. Memory is bounded by `max_tokens`.
class RolloutMachine {
 public:
  /// `prompt`: text up to the first sampled token, as `policy::chat_prompt` writes it.
  RolloutMachine(std::shared_ptr<const RolloutSetup> setup, PreparedTask task,
                 policy::MarkedText prompt);

  /// Starts, or resumes from the recorded segments and repeats their calls first.
  RolloutCommands admitted(const Admission& admission);
  RolloutCommands tokens(const TokenChunk& chunk);
  RolloutCommands tool_answered(const ToolAnswer& answer);
  RolloutCommands judged(uint32_t request, const Judgement& judgement);
  /// Call if the receiver is gone, failed or late: repeats the request, at most `infra_retries`
  /// times.
  RolloutCommands failed(uint32_t request, const InfraFailure& failure);
  /// Call if the brain has no answer and a retry would not help: drops the trajectory for that
  /// reason.
  RolloutCommands unanswered(uint32_t request, const std::string& why);
  /// Call if the receiver had no room: repeats the request. The caller waits before it calls.
  RolloutCommands repeat();
  /// Call if the executor with the workspace is gone: rebuilds the workspace before the next call.
  /// A request in flight to that executor also needs `failed`.
  void workspace_lost() { workspace_gone_ = true; }
  /// Call when another generator is used from now on: the next request has the whole prefix.
  void session_lost() { seen_ = seen_before_ = 0; }

  RolloutPhase phase() const { return phase_; }
  bool over() const { return phase_ == RolloutPhase::finished || phase_ == RolloutPhase::dropped; }
  bool is_using_workspace() const;
  uint32_t request() const { return request_; }  // number of the request in flight
  /// Number of the latest turn's segment.
  uint32_t turn() const { return turns_ == 0 ? 0 : turns_ - 1 + contexts_; }
  TrajectoryId id() const { return id_; }
  const PreparedTask& task() const { return task_; }
  const Transcript& transcript() const { return transcript_; }

 private:
  bool is_expected(uint32_t request, std::initializer_list<RolloutPhase> phases) const;
  int64_t room() const;  // tokens left until the limit
  RolloutCommands repeat_request();

  // Turns
  RolloutCommands resume(std::span<const Segment> segments);
  void restore_call(const ParsedCall& call);
  bool restore_turn(const Segment& segment);
  RolloutCommands begin_turn();
  RolloutCommands generate(size_t seen);
  RolloutCommands end_turn(FinishReason finish);
  RolloutCommands observe();
  std::vector<int32_t> results_text() const;
  std::string fit_to_budget(const std::string& result) const;
  size_t token_count(const std::string& result) const;
  bool is_complete(std::span<const int32_t> turn) const;
  std::string text_of(std::span<const int32_t> turn) const;
  /// True for a turn that can be answered by results of its calls.
  bool has_calls(std::span<const int32_t> turn) const;
  /// The calls of the latest counted turn; if the answer contains files, the calls that they
  /// represent.
  Result<std::vector<ParsedCall>> calls_in(std::span<const int32_t> turn) const;

  // A full context
  bool is_nearly_full(size_t more) const;
  /// The results, followed by the request for a summary.
  std::vector<int32_t> ask_for_summary();
  bool asks_for_summary(const Segment& segment) const;
  /// Starts a context with the task and the latest turn as its summary.
  RolloutCommands begin_context();

  // Tools
  RolloutCommands next_call();
  RolloutCommands run_tool();
  RolloutCommands rebuild();
  RolloutCommands replay();
  ToolCall tool_call(const ParsedCall& call) const;
  RolloutCommands needs_judge(const ToolAnswer& answer);
  EvaluateCall judge();
  void keep_if_best(const Verdict& verdict);
  void keep_recorded_best(const ToolAnswer& answer);
  bool has_changed_files() const;

  // The end
  RolloutCommands stop_acting(bool truncated);
  RolloutCommands judge_best();
  RolloutCommands final_judged(const Verdict& verdict);
  RolloutCommands close_submitted();
  void end_acting(RolloutCommands& commands);
  RolloutCommands close(const Verdict* verdict);
  RolloutCommands drop(DropReason reason, const std::string& detail);

  std::shared_ptr<const RolloutSetup> setup_;
  PreparedTask task_;
  policy::MarkedText prompt_;
  RolloutPhase phase_ = RolloutPhase::waiting_for_admission;
  TrajectoryId id_ = 0;
  uint32_t step_ = 0;  // of the weights at admission
  uint32_t request_ = 0;
  uint32_t failures_ = 0;  // of the request in flight, in a row
  Transcript transcript_;

  size_t seen_ = 0;         // tokens that the generator has
  size_t seen_before_ = 0;  // tokens that it had before the request in flight
  int64_t credit_ = 0;      // tokens that it may still sample in this turn
  uint32_t turns_ = 0;      // ended turns
  uint32_t tool_calls_ = 0;
  bool truncated_ = false;
  bool summarising_ = false;  // the current turn is a summary
  uint32_t contexts_ = 0;     // begun by a summary

  std::vector<ParsedCall> calls_;     // of this turn
  size_t next_call_ = 0;              // of calls_
  std::vector<std::string> results_;  // of this turn's calls so far
  std::vector<ParsedCall> history_;   // calls that a new workspace needs, in order
  size_t replayed_ = 0;               // of history_, while rebuilding
  bool workspace_gone_ = false;
  RolloutPhase after_rebuilding_ = RolloutPhase::running_tool;
  sandbox::EvaluateRequest judged_;               // the latest request to a sandbox
  std::optional<sandbox::EvaluateRequest> best_;  // the best submission that a tool found correct
  double best_rank_ = 0;
  BestSubmission recorded_best_;  // of the turns before a resume; the rebuilding finds its files
  bool has_submitted_ = false;    // the last recorded turn did; its verdict was not recorded
  struct Submitted {
    sandbox::EvaluateRequest request;
    Verdict verdict;
  };
  /// The agent's submission, while an earlier and better one gets its final verdict.
  std::optional<Submitted> submitted_;
};

}  // namespace warpsmith::actors
