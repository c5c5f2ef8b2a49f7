// SPDX-License-Identifier: Apache-2.0
#include "actors/synthesis/synthesis.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <caf/sec.hpp>
#include <limits>
#include <utility>

#include "actors/composer/composer.hpp"
#include "actors/protocol/errors.hpp"
#include "actors/protocol/inspect.hpp"
#include "runtime/random_stream.hpp"
#include "sandbox/ingest/mutant_words.hpp"

namespace warpsmith::actors {
namespace {

constexpr size_t most_waiting = 4096;
constexpr size_t composed_ahead = 16;  // tasks that wait for ingest while more are composed
constexpr uint32_t most_tries = 3;     // of one ingest that fails without refusing the task
constexpr size_t least_ready = 8;      // of a run whose tasks are all composed
constexpr size_t most_ready = 64;      // an ingest takes seconds: do not wait for thousands

caf::error unknown_task(const std::string& id) {
  return to_caf({ErrorCode::not_found, "task " + id + " is not in the pool"});
}

ComposerPoolSettings composing_settings(const RunConfig& config, const std::filesystem::path& run) {
  const SynthesisConfig& c = config.synthesis;
  if (c.composers() == 0) return {};
  ComposerPoolSettings settings;
  settings.candidates = static_cast<uint64_t>(c.compose.candidates);
  settings.folder = run / "synthesis";
  settings.origin = composing_origin(config);
  settings.composers = static_cast<size_t>(c.composers());
  return settings;
}

/// Why no policy should train on the task; empty if one may.
std::string unfit(const TaskFacts& facts) {
  if (!facts.insensitive.empty()) {
    return "wrong answers would pass: " + sandbox::in_words(facts.insensitive);
  }
  if (!facts.compile_reason.empty()) return "torch.compile is no baseline: " + facts.compile_reason;
  return {};
}

}  // namespace

SynthesisSettings synthesis_settings(const RunConfig& config, size_t tasks,
                                     const std::filesystem::path& run) {
  SynthesisSettings settings;
  settings.seed = static_cast<uint64_t>(config.run.seed);
  // All tasks, so that their mix is the same from the first trajectory to the last.
  settings.min_ready = tasks > 0 ? std::min(tasks, most_ready) : least_ready;
  settings.mixed = tasks > most_ready;
  // Evaluations may precede an ingest in the sandbox's queue.
  settings.ingest_answer_timeout =
      std::max(settings.ingest_answer_timeout, 3 * config.sandbox.settings.ingest_timeout);
  settings.curriculum = config.synthesis.curriculum;
  settings.insensitive = config.synthesis.insensitive;
  settings.composing = composing_settings(config, run);
  settings.max_tasks = static_cast<size_t>(config.synthesis.max_tasks);
  return settings;
}

void SynthesisState::start(Self self, std::vector<Task> tasks, std::vector<SandboxActor> sandboxes,
                           SynthesisSettings settings) {
  self_ = self;
  settings_ = std::move(settings);
  settings_.max_tasks = std::max<size_t>(settings_.max_tasks, 1);
  const size_t all = tasks.size() + settings_.composing.candidates;
  const size_t most = std::clamp<size_t>(all, 1, settings_.max_tasks);
  settings_.min_ready = std::clamp<size_t>(settings_.min_ready, 1, most);
  if (settings_.mixed) {
    RandomStream order{settings_.seed, "ingest"};
    shuffle(tasks, order);
  }
  for (Task& task : tasks) sources_.push_back({std::move(task), 0});
  composer_pool_.start(self, *this, settings_.composing,
                       [this](Task task) { add_composed(std::move(task)); });
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
  if (sources_.size() < composed_ahead && has_room()) composer_pool_.dispatch();
  if (all_ingested() && pool_.size() == 0) report_no_task();
  if (composer_pool_.abandoned()) report_no_composer();
}

void SynthesisState::report_no_composer() {
  const Error& why = *composer_pool_.abandoned();
  if (supervisor_) self_->send(supervisor_, FailureReport{label(), why.code, why.message});
}

/// A set that an earlier run composed may be among the sources.
void SynthesisState::add_composed(Task task) {
  if (!has_task(task.id)) sources_.push_back({std::move(task), 0});
}

bool SynthesisState::has_task(const std::string& id) const {
  const auto is_it = [&id](const Source& source) { return source.task.id == id; };
  return facts_.contains(id) || std::ranges::any_of(sources_, is_it) ||
         std::ranges::any_of(in_ingest_, [&](const auto& entry) { return is_it(entry.second); });
}

void SynthesisState::leave_out_remaining_sources() {
  composer_pool_.stop();
  if (sources_.empty()) return;
  left_out_ += sources_.size();
  log::warn(fmt::format("{}: {} tasks are left out: the pool is full (synthesis.max_tasks = {})",
                        label(), sources_.size(), settings_.max_tasks));
  sources_.clear();
}

void SynthesisState::ingest(Source source, const SandboxActor& sandbox) {
  ++source.tries;
  const caf::actor_addr at = sandbox.address();
  ask(self_, *this, "ingested", sandbox, settings_.ingest_answer_timeout, atom::ingest_v,
      source.task)
      .then([this, at](TaskFacts& facts) { ingest_succeeded(at, facts); },
            [this, at](const caf::error& error) { ingest_failed(at, error); });
  in_ingest_[at] = std::move(source);
}

std::optional<SynthesisState::Source> SynthesisState::take_source(const caf::actor_addr& sandbox) {
  auto node = in_ingest_.extract(sandbox);
  if (node.empty()) return std::nullopt;
  return std::move(node.mapped());
}

void SynthesisState::ingest_succeeded(const caf::actor_addr& sandbox, TaskFacts& facts) {
  auto source = take_source(sandbox);
  if (!source) return;
  const std::string why = settings_.insensitive == InsensitiveTasks::refuse ? unfit(facts) : "";
  if (why.empty()) {
    accept({std::move(source->task), std::move(facts)});
  } else {
    refuse(source->task, {ErrorCode::invalid_argument,
                          why + " (synthesis.insensitive = \"accept\" trains on such tasks)"});
  }
  ingest_ended();
}

/// Only a refusal is the task's own fault. A dead sandbox gets no more tasks until the supervisor
/// sends its successor.
void SynthesisState::ingest_failed(const caf::actor_addr& sandbox, const caf::error& error) {
  auto source = take_source(sandbox);
  if (!source) return;
  if (receiver_is_gone(error)) {
    std::erase_if(sandboxes_, [&](const SandboxActor& s) { return s.address() == sandbox; });
  }
  const Error why = from_caf(error);
  if (why.code == ErrorCode::invalid_argument || source->tries >= most_tries) {
    refuse(source->task, why);
  } else {
    log::warn(fmt::format("{}: ingest of task {} failed, try {} of {}: {}", label(),
                          source->task.id, source->tries, most_tries, why.message));
    sources_.push_back(std::move(*source));
  }
  ingest_ended();
}

void SynthesisState::accept(PreparedTask task) {
  const auto note = [&](const char* kind, const std::string& what) {
    if (what.empty()) return;
    unrecorded_.push_back({kind, label(), task.task.id + ": " + what});
    record_events();
  };
  note("task_insensitive", task.facts.insensitive);
  note("task_without_compile", task.facts.compile_reason);
  log::info(
      fmt::format("{}: task {} accepted, eager {} ms", label(), task.task.id, task.facts.eager_ms));
  const auto [first, last] = waiting_for_id_.equal_range(task.task.id);
  for (auto it = first; it != last; ++it) it->second.deliver(task);
  waiting_for_id_.erase(first, last);
  const TaskFacts& facts = task.facts;
  const double most_speedup = facts.roofline_ms > 0 ? facts.eager_ms / facts.roofline_ms
                                                    : std::numeric_limits<double>::infinity();
  facts_[task.task.id] = std::move(task.facts);
  pool_.add(task.task, most_speedup);
  replay_history(task.task);
}

/// The events of these outcomes are recorded already.
void SynthesisState::replay_history(const Task& task) {
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

void SynthesisState::report_no_task() {
  if (!supervisor_) return;  // reported when Peers brings the supervisor
  const Error first = first_refusal_.value_or(Error{ErrorCode::not_found, "there is no task"});
  self_->send(supervisor_,
              FailureReport{label(), first.code, "no task was accepted; first: " + first.message});
}

/// Starts the next ingest and answers the requests that can be answered now.
void SynthesisState::ingest_ended() {
  if (pool_.size() >= settings_.max_tasks) leave_out_remaining_sources();
  self_->send(self_, atom::step_v);
  while (!waiting_.empty() && ready()) {
    waiting_.front().deliver(draw());
    waiting_.pop_front();
  }
  announce_total();
  offer_no_task();
  if (!all_ingested()) return;
  for (auto& [id, promise] : waiting_for_id_) promise.deliver(unknown_task(id));
  waiting_for_id_.clear();
  if (pool_.size() != 0) return;
  for (auto& promise : waiting_) {
    promise.deliver(to_caf({ErrorCode::not_found, "no task was accepted; the log says why"}));
  }
  waiting_.clear();
}

/// A refused task is never drawn, so the number of trajectories is known only after the last
/// ingest.
void SynthesisState::announce_total() {
  if (!settings_.draws || !all_ingested() || !ledger_) return;
  uint64_t total = settings_.admitted_before;
  for (const Task& task : pool_.tasks()) total += settings_.draws->planned(task.id);
  self_->send(ledger_, atom::drain_v, total);
}

bool SynthesisState::ready() const {
  if (pool_.exhausted()) return false;
  return pool_.size() >= settings_.min_ready || (all_ingested() && pool_.size() > 0);
}

/// After the last draw of an evaluation a request gets no task (an empty id): the ledger then
/// answers with a trajectory that lost its rollout, if there is one.
void SynthesisState::offer_no_task() {
  if (!all_ingested() || pool_.size() == 0 || !pool_.exhausted()) return;
  for (auto& promise : std::exchange(waiting_, {})) promise.deliver(PreparedTask{});
}

PreparedTask SynthesisState::draw() {
  const Task& task = pool_.next();
  if (settings_.draws) settings_.draws->drawn(task.id);
  return {task, facts_.at(task.id)};
}

caf::result<PreparedTask> SynthesisState::next_task(atom::next_task /*unused*/) {
  if (ready()) return draw();
  if (all_ingested() && pool_.size() > 0 && pool_.exhausted()) return PreparedTask{};
  if (all_ingested() && pool_.size() == 0) {
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
  if (all_ingested() || waiting_for_id_.size() >= most_waiting) return unknown_task(id);
  return waiting_for_id_.emplace(id, self_->make_response_promise<PreparedTask>())->second;
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
  for (const auto& at : gone) ingest_failed(at, caf::make_error(caf::sec::request_receiver_down));
  composer_pool_.peers(peers.composers);
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
  status.phase = all_ingested()                           ? "serving"
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
      {"candidates", static_cast<double>(composer_pool_.candidates())},
      {"composed", static_cast<double>(composer_pool_.accepted())}};
}

SynthesisSelf::behavior_type synthesis(SynthesisState::Self self, Identity identity,
                                       std::vector<Task> tasks, std::vector<SandboxActor> sandboxes,
                                       SynthesisSettings settings) {
  set_up_actor(self, std::move(identity));
  self->state.start(self, std::move(tasks), std::move(sandboxes), std::move(settings));
  return {on(self, "status", &SynthesisState::status),
          on(self, "next_task", &SynthesisState::next_task),
          on(self, "named_task", &SynthesisState::named_task),
          on(self, "record", &SynthesisState::record),
          on(self, "peers", &SynthesisState::peers),
          on(self, "step", &SynthesisState::step)};
}

}  // namespace warpsmith::actors
