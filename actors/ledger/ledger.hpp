// SPDX-License-Identifier: Apache-2.0
// Ledger: counts and stores every trajectory. Owns the run database and the segment files; spawned
// by the supervisor with a thread of its own (it waits for the disk). Bounded by `max_in_flight`
// and by one waiting asker per rollout slot. When it dies the run stops; what it answered is on
// disk.
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

namespace warpsmith::actors {

struct LedgerSettings {
  uint64_t trajectories = 1024;  // admitted in all, over every incarnation
  AdmissionLimits limits;
  double expected_per_step = 32;  // trajectories that one step takes, until steps were seen
  bool unlimited = false;         // nothing is trained (eval): no staleness to mind
  std::chrono::milliseconds group_commit{0};  // what arrives within it shares one flush; 0: what
                                              // is queued already
};

/// The opened store and where this incarnation starts. Handed over once.
struct LedgerSource {
  LedgerStore store;
  Resumption resumption;
  SteadyClock::time_point begun;  // of this incarnation

  /// Adds how long the incarnation has run to the open group.
  Result<void> record_wall_time();
};

class LedgerState : public ActorState {
 public:
  using Self = LedgerActor::stateful_pointer<LedgerState>;

  LedgerState() : rate_(1) {}
  /// What a delayed flush would have covered is made durable before the actor is gone.
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
  LedgerCounts counts(atom::counts);
  /// A rollout ended: what it ran goes to the next asker.
  void orphan(const caf::actor_addr& rollout);

 private:
  using Promise = caf::typed_response_promise<Admission>;
  struct Asker {
    Task task;
    caf::actor_addr rollout;
    Promise promise;
  };

  /// Sends the recorded segments and gives the outcome (empty while open); drops what cannot be
  /// read.
  std::optional<Outcome> send_recorded(TrajectoryId id);
  void drop_unreadable(TrajectoryId id, const Error& why);

  void describe(ActorStatus& status) const override;
  /// Answers with `value` once the group that holds the change is durable, or with what went wrong.
  template <class Out>
  caf::result<Out> answer(const Result<Change>& change, Out value);
  /// The learner hears of a change once it is durable: a step may only use what is recorded.
  template <class Record>
  void tell_learner(const Result<Change>& change, const Record& record);
  /// Calls `tell` when the open group was flushed; has a flush come.
  void after_flush(std::function<void(const Result<void>&)> tell);
  void serve();
  bool exhausted() const;
  bool may_admit() const;
  Result<Admission> next_for(const Asker& asker);
  std::optional<Admission> resume_one();
  Result<Admission> recorded(TrajectoryId id);
  void grant(const Asker& asker, Admission admission);
  void watch(const caf::actor_addr& rollout);
  void note_time();

  Self self_ = nullptr;
  std::shared_ptr<LedgerSource> source_;
  LedgerSettings settings_;
  StepRate rate_;
  PolicyVersion version_;
  bool draining_ = false;
  LearnerActor learner_;  // none in a run that does not learn
  StepTelemetry telemetry_;
  SteadyClock::time_point noted_;  // when the wall time was recorded last
  std::deque<Asker> askers_;
  std::deque<TrajectoryId> orphans_;                // open, without a rollout
  std::map<TrajectoryId, caf::actor_addr> owners_;  // open, with one
  std::set<caf::actor_addr> watched_;               // rollouts that are monitored
  uint64_t ends_under_way_ = 0;  // closed, neither durable nor told to the learner yet
  std::vector<std::function<void(const Result<void>&)>> waiting_for_flush_;
};

LedgerActor::behavior_type ledger(LedgerActor::stateful_pointer<LedgerState> self,
                                  Identity identity, std::shared_ptr<LedgerSource> source,
                                  LedgerSettings settings);

}  // namespace warpsmith::actors
