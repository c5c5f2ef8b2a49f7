// SPDX-License-Identifier: Apache-2.0
// Supervisor: spawns the tree, watches it, restarts what may be restarted, and ends the run. Owns
// every other actor; spawned by RunTree, polled by main; bounded by the number of actors. When it
// dies, main ends the process, and the run can resume from the disk.
#pragma once

#include <array>
#include <caf/actor_system.hpp>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>

#include "actors/base/actor_state.hpp"
#include "actors/protocol/interfaces.hpp"
#include "actors/protocol/local_messages.hpp"
#include "actors/supervisor/restart_policy.hpp"
#include "runtime/config/run_config.hpp"
#include "runtime/describe.hpp"

namespace warpsmith::actors {

template <class Handle, class... Peers>
using Spawn = std::function<Handle(caf::actor_system&, Identity, Peers...)>;

/// How the supervisor makes each kind of actor. A run fills this from its configuration, tests with
/// stand-ins.
struct Spawners {
  Spawn<TelemetryActor> telemetry;
  Spawn<LocalWeightStoreActor> weight_store;
  Spawn<LedgerActor> ledger;
  Spawn<SandboxActor, uint32_t> sandbox;  // by slot index
  Spawn<SynthesisActor, std::vector<SandboxActor>> synthesis;
  Spawn<LearnerActor, LedgerActor, LocalWeightStoreActor> learner;  // empty: nothing learns (eval)
  Spawn<GeneratorActor, WeightStoreActor> generator;
  Spawn<ToolExecutorActor> tool_executor;
  Spawn<RolloutActor> rollout;
  Spawn<ComposerActor, uint32_t> composer;  // by index
};

/// Actors of each kind.
struct ActorCounts {
  uint32_t sandboxes = 1;
  uint32_t generators = 1;
  uint32_t tool_executors = 1;
  uint32_t rollouts = 1;
  uint32_t composers = 0;
};

struct SupervisorSettings {
  ActorCounts counts;
  std::chrono::milliseconds heartbeat{2'000};            // between two rounds of status requests
  std::chrono::milliseconds status_bound{10'000};        // later answers are ignored
  std::chrono::milliseconds stuck_timeout{600'000};      // without an answer; see `unanswered`
  std::chrono::milliseconds stop_timeout{60'000};        // for the learner to flush
  std::chrono::milliseconds checkpoint_timeout{60'000};  // for the last checkpoint
  RestartTable restarts = default_restart_table();
};

/// `checkpoint_bytes`: an upper bound on the size of one checkpoint; the last one may take as long
/// as a slow disk needs.
SupervisorSettings supervisor_settings(const RunConfig& config, int64_t checkpoint_bytes);

/// The phase of the run; the comment names the actor that acts next.
enum class RunPhase : uint8_t {
  running,   // rollouts, until the ledger admits nothing more and no trajectory is open
  flushing,  // learner: makes a step of the rest, then a checkpoint
  stopping,  // learner: writes the last checkpoint after an order to stop
  done,      // main: may end the process; everything that was answered is durable
  failed,    // main: may end the process; the reason is in the log and in the status
};
constexpr auto names_of(RunPhase) {
  return std::to_array<std::string_view>({"running", "flushing", "stopping", "done", "failed"});
}

/// The supervisor with its messages to itself.
using SupervisorSelf = SupervisorActor::extend<
    // Asks every actor for its status, and the ledger for its counts.
    caf::reacts_to<atom::tick>,
    // Restarts the actor of this kind and index, after its back-off.
    caf::reacts_to<atom::respawn, uint8_t, uint32_t>>;

class SupervisorState : public ActorState {
 public:
  using Self = SupervisorSelf::stateful_pointer<SupervisorState>;

  void start(Self self, Spawners spawners, SupervisorSettings settings);
  void failure(const FailureReport& report);
  void tick(atom::tick);
  void respawn(atom::respawn, uint8_t kind, uint32_t index);
  void stop(atom::stop);
  caf::result<Observation> numbers(atom::snapshot);
  /// Ends every child; called when the supervisor itself ends.
  void end_all();
  void child_ended(const caf::down_msg& down);

 private:
  enum class Kind : uint8_t {
    telemetry,
    weight_store,
    ledger,
    sandbox,
    synthesis,
    learner,
    generator,
    tool_executor,
    rollout,
    composer,
  };
  struct Child {
    Kind kind = Kind::rollout;
    uint32_t index = 0;
    std::string label;
    caf::actor handle;
    bool leaving = false;    // was sent an exit: its end is not a failure
    bool asked = false;      // has an unanswered status request
    int64_t unanswered = 0;  // status requests in a row
  };

  void describe(ActorStatus& status) const override;

  // The tree
  Identity identity_of(Kind kind, uint32_t index) const;
  template <class Handle>
  Handle watch(Kind kind, uint32_t index, Handle handle);
  void spawn_tree();
  void spawn_one(Kind kind, uint32_t index);
  void send_peers();
  void dismiss(Child& child);

  // Health
  void ask_status(Child& child);
  void answered(const caf::actor_addr& child, ActorStatus& status);
  void unanswered(Child& child, const Error& error);
  void end_stuck(const Child& child);
  void ask_counts();
  void child_lost(const Child& child, const Error& cause);
  void restart(const Child& child, const Error& cause);
  void give_up(const Error& reason);
  void record(const std::string& kind, const std::string& actor, const std::string& text);

  // The end of the run
  void counts_arrived(const LedgerCounts& counts);
  void flush_learner();
  void take_checkpoint(RunPhase next);
  void finish(RunPhase phase);

  Self self_ = nullptr;
  Spawners spawners_;
  SupervisorSettings settings_;
  RunPhase phase_ = RunPhase::running;
  std::optional<Error> failure_;
  Peers peers_;
  TelemetryActor telemetry_;
  LocalWeightStoreActor weight_store_;
  std::vector<RolloutActor> rollouts_;
  std::map<caf::actor_addr, Child> children_;
  std::map<std::string, RestartPolicy> policies_;  // by label
  LedgerCounts counts_;
  uint64_t restarts_ = 0;
  bool checkpointing_ = false;
  bool counting_ = false;      // the ledger has an unanswered request for counts
  bool flush_asked_ = false;   // the learner has an unanswered flush
  uint32_t idle_flushes_ = 0;  // in a row
};

SupervisorSelf::behavior_type supervisor(SupervisorState::Self self, Identity identity,
                                         Spawners spawners, SupervisorSettings settings);

}  // namespace warpsmith::actors
