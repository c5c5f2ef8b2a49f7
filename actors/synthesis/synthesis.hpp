// SPDX-License-Identifier: Apache-2.0
// Synthesis: turns task sources, and what composers compose, into a stream of tasks that passed
// ingest. Owns the pool, the journal of what was composed, and the waiting askers; spawned and
// watched by the supervisor; bounded by the number of tasks and of rollout slots. When it dies, its
// successor ingests again, from the cache, and rollouts repeat their requests. Reports a failure to
// the supervisor when no task was accepted, or no composer is left.
#pragma once

#include <caf/typed_response_promise.hpp>
#include <deque>
#include <map>
#include <optional>

#include "actors/base/actor_state.hpp"
#include "actors/protocol/interfaces.hpp"
#include "actors/synthesis/composing.hpp"
#include "actors/synthesis/draw_plan.hpp"
#include "synthesis/pool.hpp"

namespace warpsmith::actors {

/// By content hash of the task, so that one whose text has changed begins anew.
using OutcomesByTask = std::map<std::string, std::vector<Outcome>>;

struct SynthesisSettings {
  size_t min_ready = 1;  // accepted tasks before the first is answered
  /// The sandboxes take the tasks in by chance, so that the first ones are a sample of all. Not in
  /// an evaluation.
  bool mixed = false;
  std::chrono::milliseconds ingest_timeout{900'000};
  uint64_t seed = 0;
  uint64_t start = 0;  // counts the starts of the synthesis; each has draws of its own
  CurriculumConfig curriculum;
  size_t max_tasks = 100'000;  // in the pool; further sources are left out
  /// In an evaluation: how often each task is still drawn; a restarted synthesis shares it.
  /// Afterwards askers get a task with an empty id, and the ledger gets the number of all
  /// trajectories.
  std::shared_ptr<DrawPlan> draws;
  uint64_t admitted_before = 0;                   // trajectories of the run before these draws
  std::shared_ptr<const OutcomesByTask> history;  // what the pool counts first; may be empty
  ComposingSettings composing;
};

class SynthesisState : public ActorState {
 public:
  using Self = SynthesisSelf::stateful_pointer<SynthesisState>;

  SynthesisState() : pool_({}, RandomStream{0, "synthesis"}) {}
  void start(Self self, std::vector<Task> tasks, std::vector<SandboxActor> sandboxes,
             SynthesisSettings settings);
  caf::result<PreparedTask> next_task(atom::next_task);
  caf::result<PreparedTask> named_task(atom::next_task, const std::string& id);
  void record(const TaskOutcome& outcome);
  void peers(const Peers& peers);
  /// Gives the next task to every sandbox that has none to ingest.
  void step(atom::step);

 private:
  struct Source {
    Task task;
    uint32_t tries = 0;  // ingests begun
  };

  void describe(ActorStatus& status) const override;
  void ingest(Source source, const SandboxActor& sandbox);
  /// Removes and returns the task that this sandbox ingests; empty if there is none.
  std::optional<Source> take(const caf::actor_addr& sandbox);
  void ingested(const caf::actor_addr& sandbox, TaskFacts& facts);
  void failed(const caf::actor_addr& sandbox, const caf::error& error);
  void accept(PreparedTask task);
  void refuse(const Task& task, const Error& error);
  void record_events();
  void settled();
  void report_that_none_was_accepted();
  void report_that_no_composer_is_left();
  void composed(Task task);
  bool knows(const std::string& id) const;
  bool all_seen() const { return sources_.empty() && in_ingest_.empty() && composing_.done(); }
  bool has_room() const { return pool_.size() + in_ingest_.size() < settings_.max_tasks; }
  void leave_out_the_rest();
  bool ready() const;
  void announce_total();
  void offer_no_task();
  PreparedTask draw();
  void recall(const Task& task);

  Self self_ = nullptr;
  SynthesisSettings settings_;
  std::deque<Source> sources_;
  Composing composing_;
  std::map<caf::actor_addr, Source> in_ingest_;  // by sandbox, one each
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
  std::multimap<std::string, Promise> waiting_for_;  // by id of a task not yet ingested
};

SynthesisSelf::behavior_type synthesis(SynthesisState::Self self, Identity identity,
                                       std::vector<Task> tasks, std::vector<SandboxActor> sandboxes,
                                       SynthesisSettings settings);

}  // namespace warpsmith::actors
