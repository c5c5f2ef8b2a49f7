// SPDX-License-Identifier: Apache-2.0
// Synthesis: turns task sources into a stream of tasks that passed ingest. Owns the pool and the
// waiting askers; spawned and watched by the supervisor; bounded by the number of tasks and of
// rollout slots. When it dies, its successor ingests again, from the cache, and rollouts ask it
// again. A run without any accepted task is ended by a report to the supervisor.
#pragma once

#include <caf/typed_response_promise.hpp>
#include <deque>
#include <map>
#include <optional>

#include "actors/base/actor_state.hpp"
#include "actors/protocol/interfaces.hpp"
#include "synthesis/pool.hpp"

namespace warpsmith::actors {

struct SynthesisSettings {
  size_t min_ready = 1;  // accepted tasks before the first is handed out
  std::chrono::milliseconds ingest_timeout{900'000};
  uint64_t seed = 0;
  Curriculum curriculum = Curriculum::rounds;
  size_t max_tasks = 100'000;  // of the pool; the sources behind them are left out
};

class SynthesisState : public ActorState {
 public:
  using Self = SynthesisActor::stateful_pointer<SynthesisState>;

  SynthesisState() : pool_({}, RandomStream{0, "synthesis"}) {}
  void start(Self self, std::vector<Task> tasks, std::vector<SandboxActor> sandboxes,
             SynthesisSettings settings);
  caf::result<PreparedTask> next_task(atom::next_task);
  caf::result<PreparedTask> named_task(atom::next_task, const std::string& id);
  void record(const TaskOutcome& outcome);
  void peers(const Peers& peers);
  /// Gives every sandbox that ingests nothing the next task.
  void step(atom::step);

 private:
  struct Source {
    Task task;
    uint32_t tries = 0;  // ingests that were begun
  };

  void describe(ActorStatus& status) const override;
  void ingest(Source source, const SandboxActor& sandbox);
  /// What the sandbox at this address was given, once.
  std::optional<Source> take(const caf::actor_addr& sandbox);
  void ingested(const caf::actor_addr& sandbox, TaskFacts& facts);
  void failed(const caf::actor_addr& sandbox, const caf::error& error);
  void accept(PreparedTask task);
  void refuse(const Task& task, const Error& error);
  void record_refusals();
  void settled();
  void tell_that_none_was_accepted();
  bool all_seen() const { return sources_.empty() && in_ingest_.empty(); }
  bool has_room() const { return pool_.size() + in_ingest_.size() < settings_.max_tasks; }
  void leave_out_the_rest();
  bool ready() const;
  PreparedTask draw();

  Self self_ = nullptr;
  SynthesisSettings settings_;
  std::deque<Source> sources_;
  std::map<caf::actor_addr, Source> in_ingest_;  // by sandbox: one at a time
  size_t refused_ = 0, left_out_ = 0;
  std::optional<Error> first_refusal_;
  SupervisorActor supervisor_;
  LedgerActor ledger_;
  std::vector<Event> unrecorded_;  // at most one per task
  std::vector<SandboxActor> sandboxes_;
  synthesis::Pool pool_;
  std::map<std::string, TaskFacts> facts_;
  using Promise = caf::typed_response_promise<PreparedTask>;
  std::deque<Promise> waiting_;
  std::multimap<std::string, Promise> waiting_for_;  // a task by name that is still to be ingested
};

SynthesisActor::behavior_type synthesis(SynthesisActor::stateful_pointer<SynthesisState> self,
                                        Identity identity, std::vector<Task> tasks,
                                        std::vector<SandboxActor> sandboxes,
                                        SynthesisSettings settings);

}  // namespace warpsmith::actors
