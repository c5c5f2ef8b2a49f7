// SPDX-License-Identifier: Apache-2.0
// Ledger: counts and stores every trajectory. Owns the run database and the segment files; spawned
// by the supervisor on its own thread, because it waits for the disk. Bounded by `max_in_flight`
// and by one waiting request per rollout slot. When it dies, the run stops; every acknowledged
// change is on disk.
#pragma once

#include <caf/typed_response_promise.hpp>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>

#include "actors/base/actor_state.hpp"
#include "actors/ledger/admission.hpp"
#include "actors/ledger/ledger_store.hpp"
#include "actors/protocol/interfaces.hpp"
#include "actors/telemetry/step_telemetry.hpp"
#include "runtime/clock.hpp"
#include "runtime/config/run_config.hpp"

namespace warpsmith::actors {

struct LedgerSettings {
  uint64_t trajectories = 1024;  // admitted in all, over every incarnation
  AdmissionLimits limits;
  double expected_per_step = 32;              // trajectories per step, until steps were seen
  bool unlimited = false;                     // nothing is trained (eval), so no bound on staleness
  std::chrono::milliseconds group_commit{0};  // changes within it share one flush; 0: changes
                                              // that are queued already
};

/// `learns`: false for a run without a learner, which needs no bound on staleness.
LedgerSettings ledger_settings(const RunConfig& config, bool learns);

/// The opened store and where this incarnation starts; moved into the ledger once.
struct LedgerSource {
  LedgerStore store;
  Resumption resumption;
  SteadyClock::time_point begun;  // of this incarnation

  /// Adds the incarnation's running time to the open group.
  Result<void> record_wall_time();
};

/// The ledger with its message to itself: make the open group durable and answer for it.
using LedgerSelf = LedgerActor::extend<caf::reacts_to<atom::flush>>;

class LedgerState : public ActorState {
 public:
  using Self = LedgerSelf::stateful_pointer<LedgerState>;

  LedgerState() : rate_(1) {}
  /// Makes the open group durable.
  ~LedgerState() override;
  LedgerState(const LedgerState&) = delete;
  LedgerState& operator=(const LedgerState&) = delete;
  void start(Self self, std::shared_ptr<LedgerSource> source, LedgerSettings settings);
  caf::result<Admission> admit(atom::admit, const Task& task);
  caf::result<uint32_t> append(const Segment& segment);
  caf::result<bool> close(const Closed& closed);
  caf::result<bool> drop(const Dropped& dropped);
  caf::result<bool> step_done(const StepDone& step);
  caf::result<bool> checkpointed(atom::checkpoint, PolicyVersion version);
  void judged(const Judged& judged);
  void record(const Event& event);
  void observe(const Observation& seen);
  void redeliver(atom::redeliver, const LearnerActor& learner);
  void flush(atom::flush);
  void drain(atom::drain);
  void admit_at_most(atom::drain, uint64_t trajectories);
  LedgerCounts counts(atom::counts);
  /// Called when a rollout has ended: its open trajectories go to the next rollouts that ask.
  void rollout_ended(const caf::actor_addr& rollout);

 private:
  using Promise = caf::typed_response_promise<Admission>;
  struct AdmissionRequest {
    Task task;
    caf::actor_addr rollout;
    Promise promise;
  };

  /// Sends the learner the recorded segments and returns the outcome (empty while open). Drops a
  /// trajectory that cannot be read.
  std::optional<Outcome> send_recorded(TrajectoryId id);
  void drop_unreadable(TrajectoryId id, const Error& why);

  void describe(ActorStatus& status) const override;
  /// Answers `value` once the change is durable, or the error.
  template <class Out>
  caf::result<Out> answer(const Result<Change>& change, Out value);
  /// Sends the change to the learner once it is durable: a step may use only recorded changes.
  template <class Record>
  void send_to_learner(const Result<Change>& change, const Record& record);
  /// Schedules a flush and calls `callback` with its result.
  void after_flush(std::function<void(const Result<void>&)> callback);
  void answer_requests();
  bool exhausted() const;
  bool may_admit() const;
  Result<Admission> admit_new(const AdmissionRequest& request);
  std::optional<Admission> resume_one();
  Result<Admission> recorded(TrajectoryId id);
  void grant(const AdmissionRequest& request, Admission admission);
  void watch(const caf::actor_addr& rollout);
  void record_wall_time();

  Self self_ = nullptr;
  std::shared_ptr<LedgerSource> source_;
  LedgerSettings settings_;
  StepRate rate_;
  PolicyVersion version_;
  bool draining_ = false;
  LearnerActor learner_;  // none in a run that does not learn
  StepTelemetry telemetry_;
  SteadyClock::time_point last_wall_time_record_;
  std::deque<AdmissionRequest> requests_;
  std::deque<TrajectoryId> orphans_;                // open trajectories without a rollout
  std::map<TrajectoryId, caf::actor_addr> owners_;  // open trajectories with their rollouts
  std::set<caf::actor_addr> watched_;               // monitored rollouts
  uint64_t ends_under_way_ = 0;  // closed, but not yet durable and so not sent to the learner
  std::vector<std::function<void(const Result<void>&)>> waiting_for_flush_;
};

LedgerSelf::behavior_type ledger(LedgerState::Self self, Identity identity,
                                 std::shared_ptr<LedgerSource> source, LedgerSettings settings);

}  // namespace warpsmith::actors
