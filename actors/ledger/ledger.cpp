// SPDX-License-Identifier: Apache-2.0
#include "actors/ledger/ledger.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "actors/protocol/errors.hpp"
#include "actors/protocol/inspect.hpp"
#include "actors/rollout/outcome.hpp"
#include "runtime/run/run_queries.hpp"

namespace warpsmith::actors {
namespace {

constexpr std::chrono::seconds wall_time_interval{10};  // kill -9 loses at most this much

BestSubmission best_of_tools(const std::vector<VerdictRow>& verdicts) {
  BestSubmission best;
  for (const VerdictRow& row : verdicts) {
    if (!row.final) best = better_of(std::move(best), row.verdict);
  }
  return best;
}

}  // namespace

LedgerSettings ledger_settings(const RunConfig& config, bool learns) {
  LedgerSettings settings;
  settings.trajectories = static_cast<uint64_t>(config.run.trajectories);
  settings.limits.max_lag = static_cast<uint32_t>(config.learner.max_lag);
  settings.limits.max_in_flight = static_cast<uint64_t>(config.ledger.max_in_flight);
  settings.expected_per_step = static_cast<double>(config.learner.step.trajectories);
  settings.unlimited = !learns;
  settings.group_commit = config.ledger.group_commit;
  return settings;
}

Result<void> LedgerSource::record_wall_time() {
  return store.record_wall_seconds(
      std::chrono::duration<double>(SteadyClock::now() - begun).count());
}

void LedgerState::start(Self self, std::shared_ptr<LedgerSource> source, LedgerSettings settings) {
  self_ = self;
  source_ = std::move(source);
  settings_ = settings;
  rate_ = StepRate(settings.expected_per_step);
  version_ = {source_->store.incarnation(), source_->store.last_step()};
  orphans_.assign(source_->resumption.open.begin(), source_->resumption.open.end());
}

template <class Out>
caf::result<Out> LedgerState::answer(const Result<Change>& change, Out value) {
  if (!change) return to_caf(change.error());
  if (*change == Change::already && !source_->store.pending()) return value;
  auto promise = self_->template make_response_promise<Out>();
  after_flush([promise, value](const Result<void>& flushed) mutable {
    if (flushed) {
      promise.deliver(std::move(value));
    } else {
      promise.deliver(to_caf(flushed.error()));
    }
  });
  return promise;
}

template <class Record>
void LedgerState::send_to_learner(const Result<Change>& change, const Record& record) {
  if (!learner_ || !change || *change == Change::already) return;
  after_flush([this, record](const Result<void>& done) {
    if (done) self_->send(learner_, record);
  });
}

LedgerState::~LedgerState() {
  if (!source_) return;
  auto kept = source_->record_wall_time();
  if (kept) kept = source_->store.flush();
  if (!kept) log::error(label() + ": " + kept.error().message);
}

void LedgerState::after_flush(std::function<void(const Result<void>&)> callback) {
  waiting_for_flush_.push_back(std::move(callback));
  if (waiting_for_flush_.size() > 1) return;
  if (settings_.group_commit.count() > 0) {
    self_->delayed_send(self_, settings_.group_commit, atom::flush_v);
  } else {
    self_->send(self_, atom::flush_v);  // after the messages that are already queued
  }
}

/// Runs at every heartbeat, with the supervisor's request for counts.
void LedgerState::record_wall_time() {
  const auto now = SteadyClock::now();
  if (now - last_wall_time_record_ < wall_time_interval) return;
  last_wall_time_record_ = now;
  if (auto recorded_time = source_->record_wall_time(); !recorded_time) {
    log::warn(label() + ": running time not recorded: " + recorded_time.error().message);
  }
  after_flush([](const Result<void>&) {});
}

void LedgerState::flush(atom::flush /*unused*/) {
  const Result<void> flushed = source_->store.flush();
  if (!flushed) log::error(label() + ": " + flushed.error().message);
  auto waiting = std::exchange(waiting_for_flush_, {});
  for (auto& callback : waiting) callback(flushed);
}

bool LedgerState::exhausted() const {
  return orphans_.empty() &&
         (draining_ || source_->store.counts().admitted >= settings_.trajectories);
}

bool LedgerState::may_admit() const {
  if (settings_.unlimited) return true;
  const ConservationCounts& counts = source_->store.counts();
  const auto closed = static_cast<double>(counts.of(TrajectoryPhase::closed));
  const bool starves =
      counts.of(TrajectoryPhase::open) == 0 && closed < settings_.expected_per_step;
  return admission_capacity(settings_.limits, {counts.untrained(), rate_.per_step(), starves}) > 0;
}

Result<Admission> LedgerState::recorded(TrajectoryId id) {
  TRY(auto task, source_->store.task_of(id));
  TRY(auto trajectory, source_->store.load(id));
  TRY(const auto verdicts, verdict_rows(source_->store.database(), id));
  return Admission{true, id,       std::move(task),        std::move(trajectory.segments),
                   true, version_, best_of_tools(verdicts)};
}

/// The next readable orphan; unreadable ones are dropped on the way.
std::optional<Admission> LedgerState::resume_one() {
  while (!orphans_.empty()) {
    const TrajectoryId id = orphans_.front();
    orphans_.pop_front();
    auto admission = recorded(id);
    if (admission) return std::move(*admission);
    drop_unreadable(id, admission.error());
  }
  return std::nullopt;
}

Result<Admission> LedgerState::admit_new(const AdmissionRequest& request) {
  TRY(auto id, source_->store.admit(request.task, version_));
  return Admission{true, id, request.task, {}, false, version_, {}};
}

void LedgerState::watch(const caf::actor_addr& rollout) {
  if (watched_.insert(rollout).second) self_->monitor(rollout);
}

void LedgerState::grant(const AdmissionRequest& request, Admission admission) {
  owners_[admission.trajectory] = request.rollout;
  after_flush([this, promise = request.promise,
               out = std::move(admission)](const Result<void>& done) mutable {
    if (done) {
      promise.deliver(std::move(out));
      return;
    }
    owners_.erase(out.trajectory);
    if (out.resumed) orphans_.push_front(out.trajectory);  // the store still has it
    promise.deliver(to_caf(done.error()));
  });
}

/// Answers every request that can be answered now, by an admission or a final refusal.
void LedgerState::answer_requests() {
  while (!requests_.empty()) {
    if (auto resumed = resume_one()) {
      grant(requests_.front(), std::move(*resumed));
      requests_.pop_front();
      continue;
    }
    if (!exhausted() && !may_admit() && !requests_.front().task.id.empty()) return;
    AdmissionRequest request = std::move(requests_.front());
    requests_.pop_front();
    if (exhausted() || request.task.id.empty()) {
      request.promise.deliver(Admission{});
      continue;
    }
    auto admission = admit_new(request);
    if (admission) {
      grant(request, std::move(*admission));
    } else {
      request.promise.deliver(to_caf(admission.error()));
    }
  }
}

caf::result<Admission> LedgerState::admit(atom::admit /*unused*/, const Task& task) {
  constexpr size_t most_waiting = 4096;
  if (requests_.size() >= most_waiting) {
    return to_caf({ErrorCode::capacity, label() + ": too many requests wait for admission"});
  }
  // Read first: making the promise moves the sender out of the message.
  const auto rollout = caf::actor_cast<caf::actor_addr>(self_->current_sender());
  watch(rollout);
  auto promise = self_->make_response_promise<Admission>();
  requests_.push_back({task, rollout, promise});
  answer_requests();
  return promise;
}

caf::result<uint32_t> LedgerState::append(const Segment& segment) {
  const auto change = source_->store.append(segment);
  send_to_learner(change, segment);
  return answer(change, segment.number);
}

caf::result<bool> LedgerState::close(const Closed& closed) {
  const auto change = source_->store.close(closed.trajectory, closed.outcome);
  if (change) owners_.erase(closed.trajectory);
  send_to_learner(change, closed);
  if (change && *change == Change::made) {
    ++ends_under_way_;
    after_flush([this](const Result<void>&) { --ends_under_way_; });
  }
  return answer(change, true);
}

caf::result<bool> LedgerState::drop(const Dropped& dropped) {
  const auto change = source_->store.drop(dropped.trajectory, dropped.reason, dropped.detail);
  if (change) owners_.erase(dropped.trajectory);
  send_to_learner(change, dropped);
  auto result = answer(change, true);
  answer_requests();
  return result;
}

caf::result<bool> LedgerState::step_done(const StepDone& step) {
  StepRow row;
  row.version = step.version;
  row.trajectories = step.trained;
  row.metrics = step.metrics;
  row.metrics.merge(telemetry_.take());
  const auto change = source_->store.mark_trained(row);
  if (change) {
    version_ = step.version;
    rate_.observe(step.trained.size());
  }
  auto result = answer(change, true);
  answer_requests();
  return result;
}

caf::result<bool> LedgerState::checkpointed(atom::checkpoint /*unused*/, PolicyVersion version) {
  return answer(source_->store.checkpointed(version.step), true);
}

void LedgerState::judged(const Judged& judged) {
  const auto kept = source_->store.record_verdict(
      {judged.trajectory, judged.turn, judged.final, judged.verdict}, judged.files);
  if (!kept) log::warn(label() + ": verdict not recorded: " + kept.error().message);
}

void LedgerState::record(const Event& event) {
  const auto kept = source_->store.record_event(event.kind, event.actor, event.text);
  if (!kept) log::warn(label() + ": event not recorded: " + kept.error().message);
  after_flush([](const Result<void>&) {});
}

void LedgerState::observe(const Observation& seen) {
  telemetry_.observe(seen);
}

/// The learner also needs the recorded turns of open trajectories, which a rollout continues.
void LedgerState::redeliver(atom::redeliver /*unused*/, const LearnerActor& learner) {
  learner_ = learner;
  Resumption& resumption = source_->resumption;
  for (const TrajectoryId id : resumption.open) (void)send_recorded(id);
  for (const TrajectoryId id : resumption.closed) {
    auto outcome = send_recorded(id);
    if (outcome) self_->send(learner_, Closed{id, std::move(*outcome)});
  }
  resumption.open.clear();
  resumption.closed.clear();
}

std::optional<Outcome> LedgerState::send_recorded(TrajectoryId id) {
  auto whole = source_->store.load(id);
  if (!whole) {
    std::erase(orphans_, id);
    drop_unreadable(id, whole.error());
    return std::nullopt;
  }
  for (const Segment& segment : whole->segments) self_->send(learner_, segment);
  return std::move(whole->outcome);
}

void LedgerState::drop_unreadable(TrajectoryId id, const Error& why) {
  const auto change = source_->store.drop(id, DropReason::infrastructure, why.message);
  log::warn(
      fmt::format("{}: trajectory {}: {}{}", label(), id, why.message, change ? ", dropped" : ""));
  send_to_learner(change, Dropped{id, DropReason::infrastructure, why.message});
}

void LedgerState::drain(atom::drain /*unused*/) {
  draining_ = true;
  answer_requests();
}

void LedgerState::admit_at_most(atom::drain /*unused*/, uint64_t trajectories) {
  settings_.trajectories = std::min(settings_.trajectories, trajectories);
  answer_requests();
}

void LedgerState::rollout_ended(const caf::actor_addr& rollout) {
  watched_.erase(rollout);
  std::erase_if(requests_,
                [&](const AdmissionRequest& request) { return request.rollout == rollout; });
  for (auto it = owners_.begin(); it != owners_.end();) {
    if (it->second != rollout) {
      ++it;
      continue;
    }
    orphans_.push_back(it->first);
    it = owners_.erase(it);
  }
  answer_requests();
}

LedgerCounts LedgerState::counts(atom::counts /*unused*/) {
  record_wall_time();
  const ConservationCounts& now = source_->store.counts();
  LedgerCounts out;
  out.admitted = now.admitted;
  out.trained = now.trained();
  out.in_flight = now.in_flight();
  const uint64_t unsent = std::min(ends_under_way_, now.of(TrajectoryPhase::closed));
  out.open = now.of(TrajectoryPhase::open) + unsent;
  out.closed = now.of(TrajectoryPhase::closed) - unsent;
  out.exhausted = exhausted();
  for (size_t i = 0; i < enum_names<DropReason>.size(); ++i) {
    if (now.dropped_by_reason[i] == 0) continue;
    out.dropped[std::string{to_string(static_cast<DropReason>(i))}] = now.dropped_by_reason[i];
  }
  return out;
}

void LedgerState::describe(ActorStatus& status) const {
  status.phase = draining_ ? "draining" : "admitting";
  status.queued = requests_.size();
  status.gauges = {{"admitted", static_cast<double>(source_->store.counts().admitted)},
                   {"untrained", static_cast<double>(source_->store.counts().untrained())},
                   {"orphans", static_cast<double>(orphans_.size())}};
}

LedgerSelf::behavior_type ledger(LedgerState::Self self, Identity identity,
                                 std::shared_ptr<LedgerSource> source, LedgerSettings settings) {
  set_up_actor(self, std::move(identity));
  self->state.start(self, std::move(source), settings);
  self->set_down_handler(
      [self](const caf::down_msg& down) { self->state.rollout_ended(down.source); });
  return {on(self, "status", &LedgerState::status),
          on(self, "admit", &LedgerState::admit),
          on(self, "append", &LedgerState::append),
          on(self, "close", &LedgerState::close),
          on(self, "drop", &LedgerState::drop),
          on(self, "step_done", &LedgerState::step_done),
          on(self, "checkpointed", &LedgerState::checkpointed),
          on(self, "judged", &LedgerState::judged),
          on(self, "record", &LedgerState::record),
          on(self, "observe", &LedgerState::observe),
          on(self, "redeliver", &LedgerState::redeliver),
          on(self, "flush", &LedgerState::flush),
          on(self, "drain", &LedgerState::drain),
          on(self, "admit_at_most", &LedgerState::admit_at_most),
          on(self, "counts", &LedgerState::counts)};
}

}  // namespace warpsmith::actors
