// SPDX-License-Identifier: Apache-2.0
// One trajectory as a state machine: events in, commands out. Pure: the rollout actor carries the
// commands to the other actors and brings their answers back.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "actors/protocol/messages.hpp"
#include "actors/rollout/transcript.hpp"
#include "policy/text/chat_turns.hpp"
#include "runtime/parsed_call.hpp"
#include "runtime/reward_rule.hpp"

namespace warpsmith::actors {

/// Who acts next is written beside each phase.
enum class RolloutPhase : uint8_t {
  waiting_for_admission,  // the ledger grants it
  generating,             // a generator streams tokens up to the end of the turn
  rebuilding,             // a tool executor runs recorded calls again in a fresh workspace
  running_tool,           // a tool executor gives a text, or a submission to judge
  judging_tool,           // a sandbox gives the verdict that compile, verify or profile asked for
  freezing,               // a tool executor hands over solution/ of an agent that did not submit
  judging_final,          // a sandbox gives the verdict that earns the reward
  finished,               // nobody: the outcome is told
  dropped,                // nobody: the reason is told
};
std::string_view to_string(RolloutPhase phase) noexcept;

/// What all trajectories of a run share.
struct RolloutSetup {
  std::function<std::vector<int32_t>(std::string_view)>
      encode;  // text of special tokens → the tokens
  std::function<std::string(std::span<const int32_t>)> decode;  // special tokens → their text
  std::vector<int32_t> stop_tokens;  // that end a turn; the generator streams them too
  policy::ChatFrame frame;           // how the model's family writes messages

  ToolSyntax syntax = ToolSyntax::xml;
  int64_t max_turns = 16;
  int64_t max_tokens = 2048;       // of a trajectory, prompt and results included
  int64_t max_turn_tokens = 1024;  // sampled in one turn
  int64_t result_tokens = 512;     // a longer result is cut in the middle
  uint32_t infra_retries = 2;      // of one step; then the trajectory is dropped
  RewardRule reward = RewardRule::milestone;
  double overlong_penalty = 0;  // off −1 where a limit ended it without a submission
};

/// Asks a sandbox; the answer comes back with this number.
struct JudgeCommand {
  uint32_t request = 0;
  EvaluateCall call;
};
struct ReleaseSession {
  TrajectoryId trajectory = 0;
};
struct ReleaseWorkspace {
  TrajectoryId trajectory = 0;
};

/// To a generator, a tool executor, a sandbox; to ledger and learner (Segment, Closed, Dropped); to
/// the generator and the tool executor that hold something of it.
using RolloutCommand = std::variant<GenerateCall, ToolCall, JudgeCommand, Segment, Closed, Dropped,
                                    ReleaseSession, ReleaseWorkspace>;
using RolloutCommands = std::vector<RolloutCommand>;

/// Every request has a number (the field `turn` of GenerateCall, TokenChunk, ToolCall and
/// ToolAnswer); answers to any other than the last one are stale and ignored. At most one request
/// is under way. Memory is bounded by `max_tokens`.
class RolloutMachine {
 public:
  /// `prompt`: text up to the first sampled token, e.g. of `policy::chat_prompt`.
  RolloutMachine(std::shared_ptr<const RolloutSetup> setup, PreparedTask task, std::string prompt);

  /// Starts, or continues from the recorded segments: their calls are run again first.
  RolloutCommands admitted(const Admission& admission);
  RolloutCommands tokens(const TokenChunk& chunk);
  RolloutCommands tool_answered(const ToolAnswer& answer);
  RolloutCommands judged(uint32_t request, const Judgement& judgement);
  /// Whoever was asked is gone, failed, or late: asked again, up to the bound.
  RolloutCommands failed(uint32_t request, const InfraFailure& failure);
  /// Whoever was asked had no room: asked again, without bound. The caller waits in between.
  RolloutCommands repeat();
  /// The executor that held the workspace is gone: it is rebuilt before the next call. A request to
  /// that executor has failed besides.
  void workspace_lost() { workspace_gone_ = true; }
  /// The generator that held the session is gone: the next one gets the whole prefix.
  void session_lost() { seen_ = 0; }

  RolloutPhase phase() const { return phase_; }
  bool over() const { return phase_ == RolloutPhase::finished || phase_ == RolloutPhase::dropped; }
  bool is_using_workspace() const;
  uint32_t request() const { return request_; }  // the number that is waited for
  /// From 0, as in Segment: the turn that sampled what is called or judged now.
  uint32_t turn() const { return turns_ == 0 ? 0 : turns_ - 1; }
  TrajectoryId id() const { return id_; }
  const PreparedTask& task() const { return task_; }
  const Transcript& transcript() const { return transcript_; }

 private:
  bool is_expected(uint32_t request, std::initializer_list<RolloutPhase> phases) const;
  int64_t room() const;  // tokens until the limit
  RolloutCommands ask_again();

  // Turns
  RolloutCommands resume(std::span<const Segment> segments);
  bool recall(const Segment& segment);
  RolloutCommands begin_turn();
  RolloutCommands generate(size_t seen);
  RolloutCommands end_turn(FinishReason finish);
  RolloutCommands observe();
  std::string fitted(const std::string& result) const;
  bool is_complete(std::span<const int32_t> turn) const;
  std::string text_of(std::span<const int32_t> turn) const;

  // Tools
  RolloutCommands next_call();
  RolloutCommands run_tool();
  RolloutCommands rebuild();
  RolloutCommands replay();
  ToolCall tool_call(const ParsedCall& call) const;
  RolloutCommands needs_judge(const ToolAnswer& answer);
  JudgeCommand judge();

  // The end
  RolloutCommands stop_acting(bool truncated);
  void end_acting(RolloutCommands& commands);
  RolloutCommands close(const Verdict* verdict);
  RolloutCommands drop(DropReason reason, const std::string& detail);

  std::shared_ptr<const RolloutSetup> setup_;
  PreparedTask task_;
  std::string prompt_;
  RolloutPhase phase_ = RolloutPhase::waiting_for_admission;
  TrajectoryId id_ = 0;
  uint32_t step_ = 0;  // of the weights at its admission
  uint32_t request_ = 0;
  uint32_t failures_ = 0;  // of the step under way
  Transcript transcript_;

  size_t seen_ = 0;         // tokens that the generator has
  size_t seen_before_ = 0;  // the same before the request under way
  int64_t credit_ = 0;      // tokens that it may still sample in this turn
  uint32_t turns_ = 0;      // ended ones
  uint32_t tool_calls_ = 0;
  bool truncated_ = false;

  std::vector<ParsedCall> calls_;     // of this turn
  size_t next_call_ = 0;              // of calls_
  std::vector<std::string> results_;  // of this turn's calls so far
  std::vector<ParsedCall> history_;   // calls that changed files, in order
  size_t replayed_ = 0;               // of history_, while rebuilding
  bool workspace_gone_ = false;
  RolloutPhase after_rebuilding_ = RolloutPhase::running_tool;
  EvaluateCall judged_;  // what the sandbox was asked last
};

}  // namespace warpsmith::actors
