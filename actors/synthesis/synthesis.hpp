// SPDX-License-Identifier: Apache-2.0
// Synthesis: turns task sources and composed tasks into a stream of tasks that passed ingest. Owns
// the pool, the journal of composed tasks, and the waiting requests; spawned and watched by the
// supervisor; bounded by the number of tasks and of rollout slots. When it dies, its successor
// ingests again, from the cache, and rollouts repeat their requests. Reports a failure to the
// supervisor when no task was accepted, or no composer is left.
#pragma once

#include <caf/typed_response_promise.hpp>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "actors/base/actor_state.hpp"
#include "actors/protocol/interfaces.hpp"
#include "actors/synthesis/composer_pool.hpp"
#include "runtime/config/run_config.hpp"
#include "synthesis/pool.hpp"

namespace warpsmith::actors {

/// How often the tasks of an evaluation are drawn. Outlives the synthesis, so that its successor
/// makes the remaining draws. Thread-safe, because an abandoned synthesis may still be running.
class DrawPlan {
 public:
  explicit DrawPlan(synthesis::DrawLimits planned)
      : planned_(std::move(planned)), left_(planned_) {}

  uint64_t planned(const std::string& task_id) const {
    const auto found = planned_.find(task_id);
    return found == planned_.end() ? 0 : found->second;
  }
  synthesis::DrawLimits left() const {
    const std::scoped_lock lock{mutex_};
    return left_;
  }
  void drawn(const std::string& task_id) {
    const std::scoped_lock lock{mutex_};
    const auto found = left_.find(task_id);
    if (found != left_.end() && found->second > 0) --found->second;
  }

 private:
  const synthesis::DrawLimits planned_;
  mutable std::mutex mutex_;
  synthesis::DrawLimits left_;
};

/// Keyed by the task's content hash, so that a task whose text has changed starts at zero.
using OutcomesByTask = std::map<std::string, std::vector<Outcome>>;

struct SynthesisSettings {
  size_t min_ready = 1;  // accepted tasks before the first is answered
  /// The sandboxes ingest the tasks in random order, so that the first ones are a sample of all,
  /// and networks, which compile for long, run beside tasks that keep a GPU busy.
  bool mixed = false;
  std::chrono::milliseconds ingest_answer_timeout{900'000};
  uint64_t seed = 0;
  uint64_t start = 0;  // counts the starts of the synthesis; each has its own draws
  CurriculumConfig curriculum;
  InsensitiveTasks insensitive = InsensitiveTasks::refuse;
  size_t max_tasks = 100'000;  // in the pool; further sources are left out
  /// In an evaluation: how often each task is still drawn; a restarted synthesis shares it.
  /// Afterwards requests get a task with an empty id, and the ledger gets the number of all
  /// trajectories.
  std::shared_ptr<DrawPlan> draws;
  uint64_t admitted_before = 0;                   // trajectories of the run before these draws
  std::shared_ptr<const OutcomesByTask> history;  // counted by the pool at the start; may be empty
  ComposerPoolSettings composing;
};

/// `tasks`: the number of tasks in the sources. `run`: the run's folder, for composed tasks.
SynthesisSettings synthesis_settings(const RunConfig& config, size_t tasks,
                                     const std::filesystem::path& run);

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
  /// Sends the next task to every sandbox that ingests none.
  void step(atom::step);

 private:
  struct Source {
    Task task;
    uint32_t tries = 0;  // ingests begun
  };

  void describe(ActorStatus& status) const override;
  void ingest(Source source, const SandboxActor& sandbox);
  /// Removes and returns the task that this sandbox ingests; empty if there is none.
  std::optional<Source> take_source(const caf::actor_addr& sandbox);
  void ingest_succeeded(const caf::actor_addr& sandbox, TaskFacts& facts);
  void ingest_failed(const caf::actor_addr& sandbox, const caf::error& error);
  void accept(PreparedTask task);
  void refuse(const Task& task, const Error& error);
  void record_events();
  void ingest_ended();
  void report_no_task();
  void report_no_composer();
  void add_composed(Task task);
  bool has_task(const std::string& id) const;
  bool all_ingested() const {
    return sources_.empty() && in_ingest_.empty() && composer_pool_.done();
  }
  bool has_room() const { return pool_.size() + in_ingest_.size() < settings_.max_tasks; }
  void leave_out_remaining_sources();
  bool ready() const;
  void announce_total();
  void offer_no_task();
  PreparedTask draw();
  void replay_history(const Task& task);

  Self self_ = nullptr;
  SynthesisSettings settings_;
  std::deque<Source> sources_;
  ComposerPool composer_pool_;
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
  std::multimap<std::string, Promise> waiting_for_id_;  // by id of a task not yet ingested
};

SynthesisSelf::behavior_type synthesis(SynthesisState::Self self, Identity identity,
                                       std::vector<Task> tasks, std::vector<SandboxActor> sandboxes,
                                       SynthesisSettings settings);

}  // namespace warpsmith::actors
