// SPDX-License-Identifier: Apache-2.0
#include "actors/synthesis/synthesis.hpp"

#include <algorithm>
#include <caf/sec.hpp>
#include <limits>
#include <utility>

#include "actors/base/ask.hpp"
#include "actors/protocol/errors.hpp"
#include "actors/protocol/inspect.hpp"
#include "runtime/shuffle.hpp"

namespace warpsmith::actors {
namespace {

constexpr size_t most_waiting = 4096;
constexpr size_t composed_ahead = 16;  // tasks that wait for ingest while more are composed
constexpr uint32_t most_tries = 3;     // of one ingest that fails without refusing the task

caf::error unknown_task(const std::string& id) {
  return to_caf({ErrorCode::not_found, "task " + id + " is not in the pool"});
}

}  // namespace

void SynthesisState::start(Self self, std::vector<Task> tasks, std::vector<SandboxActor> sandboxes,
                           SynthesisSettings settings) {
  self_ = self;
  settings_ = std::move(settings);
  settings_.max_tasks = std::max<size_t>(settings_.max_tasks, 1);
  const size_t all = tasks.size() + settings_.composing.candidates;
  const size_t most = std::clamp<size_t>(all, 1, settings_.max_tasks);
  settings_.min_ready = std::clamp<size_t>(settings_.min_ready, 1, most);
  if (settings_.mixed && !settings_.draws) {
    RandomStream order{settings_.seed, "ingest"};
    shuffle(tasks, order);
  }
  for (Task& task : tasks) sources_.push_back({std::move(task), 0});
  composing_.start(self, *this, settings_.composing,
                   [this](Task task) { composed(std::move(task)); });
  sandboxes_ = std::move(sandboxes);
  pool_ = synthesis::Pool({}, RandomStream{settings_.seed, "synthesis", settings_.start},
                          settings_.curriculum);
  if (settings_.draws) pool_.limit(settings_.draws->left());
  self->send(self, atom::step_v);
}

void SynthesisState::step(atom::step /*unused*/) {
  for (const SandboxActor& sandbox : sandboxes_) {
    if (sources_.empty() || !has_room()) break;
    if (in_ingest_.contains(sandbox.address())) continue;
    Source source = std::move(sources_.front());
    sources_.pop_front();
    ingest(std::move(source), sandbox);
  }
  if (sources_.size() < composed_ahead && has_room()) composing_.go_on();
  if (all_seen() && pool_.size() == 0) report_that_none_was_accepted();
  if (composing_.abandoned()) report_that_no_composer_is_left();
}

void SynthesisState::report_that_no_composer_is_left() {
  const Error& why = *composing_.abandoned();
  if (supervisor_) self_->send(supervisor_, FailureReport{label(), why.code, why.message});
}

/// A set that an earlier run composed may be among the sources.
void SynthesisState::composed(Task task) {
  if (!knows(task.id)) sources_.push_back({std::move(task), 0});
}

bool SynthesisState::knows(const std::string& id) const {
  const auto is_it = [&id](const Source& source) { return source.task.id == id; };
  return facts_.contains(id) || std::ranges::any_of(sources_, is_it) ||
         std::ranges::any_of(in_ingest_, [&](const auto& entry) { return is_it(entry.second); });
}

void SynthesisState::leave_out_the_rest() {
  composing_.stop();
  if (sources_.empty()) return;
  left_out_ += sources_.size();
  log::warn(label() + ": " + std::to_string(sources_.size()) +
            " tasks are left out: the pool is full (synthesis.max_tasks = " +
            std::to_string(settings_.max_tasks) + ')');
  sources_.clear();
}

void SynthesisState::ingest(Source source, const SandboxActor& sandbox) {
  ++source.tries;
  const caf::actor_addr at = sandbox.address();
  ask(self_, *this, "ingested", sandbox, settings_.ingest_timeout, atom::ingest_v, source.task)
      .then([this, at](TaskFacts& facts) { ingested(at, facts); },
            [this, at](const caf::error& error) { failed(at, error); });
  in_ingest_[at] = std::move(source);
}

std::optional<SynthesisState::Source> SynthesisState::take(const caf::actor_addr& sandbox) {
  auto node = in_ingest_.extract(sandbox);
  if (node.empty()) return std::nullopt;
  return std::move(node.mapped());
}

void SynthesisState::ingested(const caf::actor_addr& sandbox, TaskFacts& facts) {
  auto source = take(sandbox);
  if (!source) return;
  accept({std::move(source->task), std::move(facts)});
  settled();
}

/// Only a refusal is the task's own fault. A dead sandbox gets no more tasks until the supervisor
/// sends its successor.
void SynthesisState::failed(const caf::actor_addr& sandbox, const caf::error& error) {
  auto source = take(sandbox);
  if (!source) return;
  if (receiver_is_gone(error)) {
    std::erase_if(sandboxes_, [&](const SandboxActor& s) { return s.address() == sandbox; });
  }
  const Error why = from_caf(error);
  if (why.code == ErrorCode::invalid_argument || source->tries >= most_tries) {
    refuse(source->task, why);
  } else {
    log::warn(label() + ": ingest of task " + source->task.id + " failed, try " +
              std::to_string(source->tries) + " of " + std::to_string(most_tries) + ": " +
              why.message);
    sources_.push_back(std::move(*source));
  }
  settled();
}

void SynthesisState::accept(PreparedTask task) {
  log::info(label() + ": task " + task.task.id + " accepted, eager " +
            std::to_string(task.facts.eager_ms) + " ms");
  const auto [first, last] = waiting_for_.equal_range(task.task.id);
  for (auto it = first; it != last; ++it) it->second.deliver(task);
  waiting_for_.erase(first, last);
  const TaskFacts& facts = task.facts;
  const double most_speedup = facts.roofline_ms > 0 ? facts.eager_ms / facts.roofline_ms
                                                    : std::numeric_limits<double>::infinity();
  facts_[task.task.id] = std::move(task.facts);
  pool_.add(task.task, most_speedup);
  recall(task.task);
}

/// The events of these outcomes are recorded already.
void SynthesisState::recall(const Task& task) {
  if (!settings_.history) return;
  const auto found = settings_.history->find(task.content_hash);
  if (found == settings_.history->end()) return;
  for (const Outcome& outcome : found->second) (void)pool_.record(task.id, outcome);
}

void SynthesisState::refuse(const Task& task, const Error& error) {
  const std::string refusal = "task " + task.id + " refused: " + error.message;
  if (++refused_ == 1) first_refusal_ = Error{error.code, refusal};
  log::warn(label() + ": " + refusal);
  unrecorded_.push_back({"task_refused", label(), refusal});
  record_events();
}

/// Events wait here until Peers brings the ledger, before the first ingest ends.
void SynthesisState::record_events() {
  if (!ledger_) return;
  for (Event& event : std::exchange(unrecorded_, {})) self_->send(ledger_, std::move(event));
}

void SynthesisState::report_that_none_was_accepted() {
  if (!supervisor_) return;  // reported when Peers brings the supervisor
  const Error first = first_refusal_.value_or(Error{ErrorCode::not_found, "there is no task"});
  self_->send(supervisor_,
              FailureReport{label(), first.code, "no task was accepted; first: " + first.message});
}

/// An ingest has ended: starts the next and answers the askers that it made possible.
void SynthesisState::settled() {
  if (pool_.size() >= settings_.max_tasks) leave_out_the_rest();
  self_->send(self_, atom::step_v);
  while (!waiting_.empty() && ready()) {
    waiting_.front().deliver(draw());
    waiting_.pop_front();
  }
  announce_total();
  offer_no_task();
  if (!all_seen()) return;
  for (auto& [id, promise] : waiting_for_) promise.deliver(unknown_task(id));
  waiting_for_.clear();
  if (pool_.size() != 0) return;
  for (auto& promise : waiting_) {
    promise.deliver(to_caf({ErrorCode::not_found, "no task was accepted; the log says why"}));
  }
  waiting_.clear();
}

/// A refused task is drawn never, so only now is it known when the evaluation ends.
void SynthesisState::announce_total() {
  if (!settings_.draws || !all_seen() || !ledger_) return;
  uint64_t total = settings_.admitted_before;
  for (const Task& task : pool_.tasks()) total += settings_.draws->planned(task.id);
  self_->send(ledger_, atom::drain_v, total);
}

bool SynthesisState::ready() const {
  if (pool_.exhausted()) return false;
  return pool_.size() >= settings_.min_ready || (all_seen() && pool_.size() > 0);
}

/// After the last draw of an evaluation an asker gets no task (an empty id): the ledger then
/// answers with a trajectory that lost its rollout, if there is one.
void SynthesisState::offer_no_task() {
  if (!all_seen() || pool_.size() == 0 || !pool_.exhausted()) return;
  for (auto& promise : std::exchange(waiting_, {})) promise.deliver(PreparedTask{});
}

PreparedTask SynthesisState::draw() {
  const Task& task = pool_.next();
  if (settings_.draws) settings_.draws->drawn(task.id);
  return {task, facts_.at(task.id)};
}

caf::result<PreparedTask> SynthesisState::next_task(atom::next_task /*unused*/) {
  if (ready()) return draw();
  if (all_seen() && pool_.size() > 0 && pool_.exhausted()) return PreparedTask{};
  if (all_seen() && pool_.size() == 0) {
    return to_caf({ErrorCode::not_found, "no task was accepted; the log says why"});
  }
  if (waiting_.size() >= most_waiting) {
    return to_caf({ErrorCode::capacity, label() + ": too many requests wait for a task"});
  }
  waiting_.push_back(self_->make_response_promise<PreparedTask>());
  return waiting_.back();
}

caf::result<PreparedTask> SynthesisState::named_task(atom::next_task /*unused*/,
                                                     const std::string& id) {
  if (facts_.contains(id)) {
    return PreparedTask{*std::ranges::find(pool_.tasks(), id, &Task::id), facts_.at(id)};
  }
  if (all_seen() || waiting_for_.size() >= most_waiting) return unknown_task(id);
  return waiting_for_.emplace(id, self_->make_response_promise<PreparedTask>())->second;
}

void SynthesisState::peers(const Peers& peers) {
  supervisor_ = peers.supervisor;
  ledger_ = peers.ledger;
  record_events();
  announce_total();
  sandboxes_ = peers.sandboxes;
  std::vector<caf::actor_addr> gone;
  for (const auto& [at, source] : in_ingest_) {
    const auto here = [&address = at](const SandboxActor& s) { return s.address() == address; };
    if (std::ranges::none_of(sandboxes_, here)) gone.push_back(at);
  }
  // A dead sandbox never answers for its task.
  for (const auto& at : gone) failed(at, caf::make_error(caf::sec::request_receiver_down));
  composing_.peers(peers.composers);
  self_->send(self_, atom::step_v);
}

void SynthesisState::record(const TaskOutcome& outcome) {
  const auto use = pool_.record(outcome.task_id, outcome.outcome);
  if (!use) return;
  const std::string now{to_string(*use)};
  log::info(label() + ": task " + outcome.task_id + " is " + now + " now");
  unrecorded_.push_back({"task_" + now, label(), "task " + outcome.task_id});
  record_events();
}

void SynthesisState::describe(ActorStatus& status) const {
  status.phase = all_seen()                               ? "serving"
                 : sources_.empty() && in_ingest_.empty() ? "composing"
                                                          : "ingesting";
  status.queued = sources_.size() + in_ingest_.size();
  status.gauges = {
      {"accepted", static_cast<double>(pool_.size())},
      {"awaited", static_cast<double>(settings_.min_ready)},
      {"refused", static_cast<double>(refused_)},
      {"retired", static_cast<double>(pool_.count(synthesis::TaskUse::retired))},
      {"quarantined", static_cast<double>(pool_.count(synthesis::TaskUse::quarantined))},
      {"left_out", static_cast<double>(left_out_)},
      {"waiting", static_cast<double>(waiting_.size())},
      {"candidates", static_cast<double>(composing_.candidates())},
      {"composed", static_cast<double>(composing_.accepted())}};
}

SynthesisSelf::behavior_type synthesis(SynthesisState::Self self, Identity identity,
                                       std::vector<Task> tasks, std::vector<SandboxActor> sandboxes,
                                       SynthesisSettings settings) {
  adopt(self, std::move(identity));
  self->state.start(self, std::move(tasks), std::move(sandboxes), std::move(settings));
  return {on(self, "status", &SynthesisState::status),
          on(self, "next_task", &SynthesisState::next_task),
          on(self, "named_task", &SynthesisState::named_task),
          on(self, "record", &SynthesisState::record),
          on(self, "peers", &SynthesisState::peers),
          on(self, "step", &SynthesisState::step)};
}

}  // namespace warpsmith::actors
