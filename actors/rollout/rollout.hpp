// SPDX-License-Identifier: Apache-2.0
// Rollout: up to `concurrent` trajectories at once, each a RolloutMachine. Owns those; spawned and
// watched by the supervisor; bounded by `concurrent` trajectories of bounded length. When it dies,
// the ledger assigns its open trajectories, as recorded, to the next rollouts that ask for
// admission. When a peer dies, the rollout keeps that peer's requests until the supervisor sends
// the successor.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>

#include "actors/base/actor_state.hpp"
#include "actors/protocol/interfaces.hpp"
#include "actors/rollout/rollout_machine.hpp"
#include "policy/text/tokenizer.hpp"
#include "runtime/clock.hpp"
#include "runtime/config/run_config.hpp"

namespace warpsmith::actors {

/// Called for each verdict on a submission, with its files, on the threads of the rollouts; `turn`
/// is the number of the turn's segment.
using JudgedSubmission = std::function<void(TrajectoryId, uint32_t turn,
                                            const sandbox::EvaluateRequest&, const Verdict&)>;

struct RolloutSettings {
  size_t concurrent = 16;
  std::shared_ptr<const RolloutSetup> setup;
  std::function<policy::MarkedText(const PreparedTask&)> prompt;  // up to the first sampled token
  std::chrono::milliseconds tick{20};                       // between checks of slots and deadlines
  std::chrono::milliseconds generate_timeout{600'000};      // between two chunks
  std::chrono::milliseconds tool_timeout{60'000};           // queue of the executor included
  std::chrono::milliseconds judge_timeout{600'000};         // queue of the sandbox included
  std::chrono::milliseconds admission_timeout{86'400'000};  // the ledger answers once it has room
  std::chrono::milliseconds ledger_timeout{60'000};
  std::chrono::milliseconds successor_timeout{60'000};  // until a dead peer is replaced
  JudgedSubmission judged;                              // may be empty
};

/// The text format of a model.
struct ModelText {
  std::shared_ptr<const policy::Tokenizer> tokenizer;
  policy::ChatFrame frame;
  std::vector<int32_t> stop_tokens;
};

/// `skill`: text of the contract's SKILL.md.
RolloutSettings rollout_settings(const RunConfig& config, ModelText text, std::string skill);

/// The rollout with its message to itself: fill free slots and check deadlines.
using RolloutSelf = RolloutActor::extend<caf::reacts_to<atom::tick>>;

class RolloutState : public ActorState {
 public:
  using Self = RolloutSelf::stateful_pointer<RolloutState>;

  void start(Self self, RolloutSettings settings);
  void peers(const Peers& peers);
  void tokens(const TokenChunk& chunk);
  void tick(atom::tick);

 private:
  /// One trajectory and the peers that have its session and workspace.
  struct ActiveTrajectory {
    RolloutMachine machine;
    GeneratorActor generator;
    ToolExecutorActor executor;
    SandboxActor sandbox;  // of the latest judgement
    SteadyClock::time_point last_chunk;
    uint32_t no_room = 0;  // a request that was refused for lack of room: repeated at the next tick
    uint32_t held = 0;     // a request whose receiver is gone: repeated at the receiver's successor
    SteadyClock::time_point held_since;
  };

  void describe(ActorStatus& status) const override;

  // Slots
  void fill_slots();
  /// Requests any task, or the task of a trajectory that resumes.
  void request_task(std::optional<Admission> resumed = std::nullopt);
  void task_arrived(uint64_t ticket, const PreparedTask& task);
  void no_task(uint64_t ticket, const caf::error& error);
  void request_admission(const PreparedTask& task);
  void admitted(const PreparedTask& asked, Admission& admission);
  void begin(PreparedTask task, const Admission& admission);
  void slot_failed(const char* what, const caf::error& error);
  void release_everywhere(TrajectoryId id);

  // Sending commands to their receivers
  void send(TrajectoryId id, const RolloutCommands& commands);
  void send(ActiveTrajectory& active, const GenerateCall& call);
  void send(ActiveTrajectory& active, const ToolCall& call);
  void send(ActiveTrajectory& active, const EvaluateCall& call);
  void send(ActiveTrajectory& active, const Segment& segment);
  void send(ActiveTrajectory& active, const Closed& closed);
  void send(ActiveTrajectory& active, const Dropped& dropped);
  void send(ActiveTrajectory& active, const ReleaseSession& release);
  void send(ActiveTrajectory& active, const ReleaseWorkspace& release);
  void judged(const EvaluateCall& call, const Judgement& judgement);
  void request_failed(TrajectoryId id, uint32_t request, const caf::error& error);
  void report_failure(const Error& why);
  void ledger_failed(const caf::error& error);
  const SandboxActor& least_busy_sandbox();

  // Deadlines and lost peers
  void check_deadlines(TrajectoryId id, ActiveTrajectory& active);
  void switch_generator(ActiveTrajectory& active);
  void replace_lost_peers();
  void replace_lost_peers(TrajectoryId id, ActiveTrajectory& active);
  void repeat_task_requests(const SynthesisActor& former);
  std::vector<TrajectoryId> active_ids() const;

  Self self_ = nullptr;
  RolloutSettings settings_;
  std::optional<Peers> peers_;
  std::map<TrajectoryId, ActiveTrajectory> active_;
  size_t waiting_slots_ = 0;  // slots that wait for a task or for admission
  std::map<uint64_t, std::optional<Admission>> task_requests_;  // by ticket; see request_task
  uint64_t tickets_ = 0;
  bool drained_ = false;
  std::deque<PreparedTask>
      unused_tasks_;  // drawn, but a trajectory was resumed instead; ≤ concurrent
  size_t next_generator_ = 0, next_executor_ = 0;
  std::map<caf::actor_addr, size_t> sandbox_load_;  // requests in flight at each sandbox
  std::set<caf::actor_addr> dead_sandboxes_;        // ended sandboxes without a successor yet
};

RolloutSelf::behavior_type rollout(RolloutState::Self self, Identity identity,
                                   RolloutSettings settings);

}  // namespace warpsmith::actors
