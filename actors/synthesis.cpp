// SPDX-License-Identifier: Apache-2.0
#include "actors/synthesis.hpp"

#include <algorithm>

#include "actors/errors.hpp"
#include "actors/inspect.hpp"

namespace warpsmith::actors {
namespace {

constexpr size_t most_waiting = 4096;

caf::error unknown_task(const std::string& id) {
  return to_caf({ErrorCode::not_found, "task " + id + " is not in the pool"});
}

}  // namespace

void SynthesisState::start(Self self, std::vector<Task> tasks, std::vector<SandboxActor> sandboxes,
                           SynthesisSettings settings) {
  self_ = self;
  settings_ = settings;
  settings_.max_tasks = std::max<size_t>(settings.max_tasks, 1);
  const size_t most = std::clamp<size_t>(tasks.size(), 1, settings_.max_tasks);
  settings_.min_ready = std::clamp<size_t>(settings.min_ready, 1, most);
  sources_.assign(tasks.begin(), tasks.end());
  sandboxes_ = std::move(sandboxes);
  pool_ = synthesis::Pool({}, RandomStream{settings.seed, "synthesis"}, settings.curriculum);
  self->send(self, atom::step_v);
}

void SynthesisState::step(atom::step /*unused*/) {
  while (!sources_.empty() && has_room() && in_ingest_ < sandboxes_.size()) {
    Task task = std::move(sources_.front());
    sources_.pop_front();
    ingest(std::move(task), sandboxes_[in_ingest_]);
  }
}

void SynthesisState::leave_out_the_rest() {
  if (sources_.empty()) return;
  left_out_ += sources_.size();
  log::warn(label() + ": " + std::to_string(sources_.size()) +
            " tasks are left out: the pool holds synthesis.max_tasks, " +
            std::to_string(settings_.max_tasks));
  sources_.clear();
}

void SynthesisState::ingest(Task task, const SandboxActor& sandbox) {
  ++in_ingest_;
  self_->request(sandbox, settings_.ingest_timeout, atom::ingest_v, task)
      .then(
          [this, task](TaskFacts& facts) {
            accept({task, std::move(facts)});
            settled();
          },
          [this, task](const caf::error& error) {
            refuse(task, error);
            settled();
          });
}

void SynthesisState::accept(PreparedTask task) {
  log::info(label() + ": task " + task.task.id + " accepted, eager " +
            std::to_string(task.facts.eager_ms) + " ms");
  const auto [first, last] = waiting_for_.equal_range(task.task.id);
  for (auto it = first; it != last; ++it) it->second.deliver(task);
  waiting_for_.erase(first, last);
  facts_[task.task.id] = std::move(task.facts);
  pool_.add(std::move(task.task));
}

void SynthesisState::refuse(const Task& task, const caf::error& error) {
  ++refused_;
  log::warn(label() + ": task " + task.id + " refused: " + from_caf(error).message);
}

/// One ingest ended: hands out what is due, and goes on.
void SynthesisState::settled() {
  --in_ingest_;
  if (pool_.size() >= settings_.max_tasks) leave_out_the_rest();
  self_->send(self_, atom::step_v);
  while (!waiting_.empty() && ready()) {
    waiting_.front().deliver(draw());
    waiting_.pop_front();
  }
  if (in_ingest_ != 0 || !sources_.empty()) return;
  for (auto& [id, promise] : waiting_for_) promise.deliver(unknown_task(id));
  waiting_for_.clear();
  if (pool_.size() != 0) return;
  for (auto& promise : waiting_) {
    promise.deliver(to_caf({ErrorCode::not_found, "no task was accepted; the log says why"}));
  }
  waiting_.clear();
}

bool SynthesisState::ready() const {
  const bool all_seen = sources_.empty() && in_ingest_ == 0;
  return pool_.size() >= settings_.min_ready || (all_seen && pool_.size() > 0);
}

PreparedTask SynthesisState::draw() {
  const Task& task = pool_.next();
  return {task, facts_.at(task.id)};
}

caf::result<PreparedTask> SynthesisState::next_task(atom::next_task /*unused*/) {
  if (ready()) return draw();
  if (sources_.empty() && in_ingest_ == 0) {
    return to_caf({ErrorCode::not_found, "no task was accepted; the log says why"});
  }
  if (waiting_.size() >= most_waiting) {
    return to_caf({ErrorCode::capacity, label() + ": too many askers wait for a task"});
  }
  waiting_.push_back(self_->make_response_promise<PreparedTask>());
  return waiting_.back();
}

caf::result<PreparedTask> SynthesisState::named_task(atom::next_task /*unused*/,
                                                     const std::string& id) {
  if (facts_.contains(id)) {
    return PreparedTask{*std::ranges::find(pool_.tasks(), id, &Task::id), facts_.at(id)};
  }
  const bool all_seen = sources_.empty() && in_ingest_ == 0;
  if (all_seen || waiting_for_.size() >= most_waiting) return unknown_task(id);
  return waiting_for_.emplace(id, self_->make_response_promise<PreparedTask>())->second;
}

void SynthesisState::peers(const Peers& peers) {
  sandboxes_ = peers.sandboxes;
}

void SynthesisState::record(const TaskOutcome& outcome) {
  pool_.record(outcome.task_id, outcome.reward, outcome.passed, outcome.speedup);
}

void SynthesisState::describe(ActorStatus& status) const {
  status.phase = sources_.empty() && in_ingest_ == 0 ? "serving" : "ingesting";
  status.queued = sources_.size() + in_ingest_;
  status.gauges = {{"accepted", static_cast<double>(pool_.size())},
                   {"refused", static_cast<double>(refused_)},
                   {"left_out", static_cast<double>(left_out_)},
                   {"waiting", static_cast<double>(waiting_.size())}};
}

SynthesisActor::behavior_type synthesis(SynthesisActor::stateful_pointer<SynthesisState> self,
                                        Identity identity, std::vector<Task> tasks,
                                        std::vector<SandboxActor> sandboxes,
                                        SynthesisSettings settings) {
  adopt(self, std::move(identity));
  self->state.start(self, std::move(tasks), std::move(sandboxes), settings);
  return {on(self, "status", &SynthesisState::status),
          on(self, "next_task", &SynthesisState::next_task),
          on(self, "named_task", &SynthesisState::named_task),
          on(self, "record", &SynthesisState::record),
          on(self, "peers", &SynthesisState::peers),
          on(self, "step", &SynthesisState::step)};
}

}  // namespace warpsmith::actors
