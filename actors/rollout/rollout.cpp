// SPDX-License-Identifier: Apache-2.0
#include "actors/rollout/rollout.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "actors/brain/brain.hpp"
#include "actors/protocol/errors.hpp"
#include "actors/protocol/inspect.hpp"
#include "policy/text/chat_format.hpp"
#include "policy/text/tool_call_grammar.hpp"
#include "sandbox/workspace/task_text.hpp"
#include "sandbox/workspace/tool_schemas.hpp"

namespace warpsmith::actors {
namespace {

template <class Handle>
bool contains(const std::vector<Handle>& handles, const Handle& wanted) {
  return std::ranges::find(handles, wanted) != handles.end();
}

template <class Handle>
const Handle& round_robin(const std::vector<Handle>& handles, size_t& next) {
  return handles[next++ % handles.size()];
}

template <class T>
T value_or_throw(Result<T> result) {
  if (!result) throw std::runtime_error(result.error().message);
  return std::move(*result);
}

/// Writes the text of a trajectory up to its first sampled token.
struct PromptWriter {
  AgentConfig agent;
  std::string contract;
  std::string skill;
  policy::ChatFrame frame;

  policy::MarkedText operator()(const PreparedTask& task) const {
    return agent.prompt == PromptStyle::brief ? brief(task) : full(task);
  }
  policy::MarkedText brief(const PreparedTask& task) const {
    const auto text =
        value_or_throw(sandbox::brief_prompt(task.task, task.facts.signature, contract));
    return policy::chat_prompt("", in_files() ? text + sandbox::brief_files_line : text, frame);
  }
  policy::MarkedText full(const PreparedTask& task) const {
    const auto tools = value_or_throw(sandbox::tools_named(agent.tools));
    const auto text = value_or_throw(
        sandbox::full_prompt(task.task, task.facts.signature, {contract, skill},
                             in_files() ? "" : policy::tools_prompt(tools, agent.syntax)));
    return policy::chat_prompt(text.system, text.user, frame);
  }
  bool in_files() const { return agent.answer == AnswerForm::files; }
};

RolloutSetup rollout_setup(const RunConfig& c, ModelText text) {
  RolloutSetup setup;
  const std::shared_ptr<const policy::Tokenizer> tokenizer = std::move(text.tokenizer);
  setup.encode = [tokenizer](const policy::MarkedText& t) { return tokenizer->encode(t); };
  setup.decode = [tokenizer](std::span<const int32_t> tokens) { return tokenizer->decode(tokens); };
  setup.stop_tokens = std::move(text.stop_tokens);
  setup.frame = std::move(text.frame);
  setup.answer = c.agent.answer;
  setup.syntax = c.agent.syntax;
  setup.script = value_or_throw(scripted_calls(c.agent));
  setup.max_turns = c.agent.answer == AnswerForm::files ? 1 : c.agent.max_turns;
  setup.max_tokens = c.agent.max_tokens;
  setup.max_turn_tokens = c.generator.max_new_tokens;
  setup.result_tokens = c.agent.result_tokens;
  setup.summary_share = c.agent.summarise ? c.agent.summary_share : 0;
  setup.unsubmitted = c.agent.unsubmitted;
  setup.infra_retries = static_cast<uint32_t>(c.rollout.infra_retries);
  setup.reward = c.rollout.reward;
  setup.overlong_penalty = c.rollout.overlong_penalty;
  return setup;
}

}  // namespace

RolloutSettings rollout_settings(const RunConfig& config, ModelText text, std::string skill) {
  RolloutSetup setup = rollout_setup(config, std::move(text));
  RolloutSettings settings;
  settings.concurrent = static_cast<size_t>(config.rollout.concurrent);
  settings.prompt =
      PromptWriter{config.agent, config.sandbox.contract, std::move(skill), setup.frame};
  settings.setup = std::make_shared<const RolloutSetup>(std::move(setup));
  // A brain has its own deadlines, retries included; this longer deadline is a backstop.
  settings.generate_timeout =
      has_brain(config.brain) ? brain_timeout(config) : config.rollout.generate_timeout;
  // An executor runs one call at a time: in the worst case every trajectory waits for the same one.
  settings.tool_timeout =
      config.agent.tool_timeout * (config.rollout.count * config.rollout.concurrent);
  settings.judge_timeout = verdict_timeout(config.sandbox);
  return settings;
}

void RolloutState::start(Self self, RolloutSettings settings) {
  self_ = self;
  settings_ = std::move(settings);
  self->send(self, atom::tick_v);
}

void RolloutState::peers(const Peers& peers) {
  const SynthesisActor former = peers_ ? peers_->synthesis : peers.synthesis;
  peers_ = peers;
  dead_sandboxes_.clear();
  if (former != peers.synthesis) repeat_task_requests(former);
  replace_lost_peers();
  fill_slots();
}

/// A copy, because sending a command may end a trajectory.
std::vector<TrajectoryId> RolloutState::active_ids() const {
  std::vector<TrajectoryId> all;
  all.reserve(active_.size());
  for (const auto& [id, active] : active_) all.push_back(id);
  return all;
}

void RolloutState::tick(atom::tick /*unused*/) {
  for (const TrajectoryId id : active_ids()) {
    if (const auto found = active_.find(id); found != active_.end())
      check_deadlines(id, found->second);
  }
  fill_slots();
  self_->delayed_send(self_, settings_.tick, atom::tick_v);
}

void RolloutState::check_deadlines(TrajectoryId id, ActiveTrajectory& active) {
  const uint32_t request = active.machine.request();
  const auto now = SteadyClock::now();
  if (std::exchange(active.no_room, 0) == request && request != 0) {
    switch_generator(active);
    return send(id, active.machine.repeat());
  }
  if (active.held == request && request != 0) {
    if (now - active.held_since < settings_.successor_timeout) return;
    return send(id, active.machine.failed(request, {InfraKind::sandbox_lost,
                                                    "the receiver ended and was not replaced"}));
  }
  const bool late = now - active.last_chunk > settings_.generate_timeout;
  if (active.machine.phase() != RolloutPhase::generating || !late) return;
  const InfraFailure failure{InfraKind::deadline, "no tokens within generate_timeout"};
  active.last_chunk = now;
  send(id, active.machine.failed(request, failure));
}

/// Moves the session to the next generator, which may have room. It gets the whole prefix.
void RolloutState::switch_generator(ActiveTrajectory& active) {
  const std::vector<GeneratorActor>& all = peers_->generators;
  if (active.machine.phase() != RolloutPhase::generating || all.size() < 2) return;
  self_->send(active.generator, atom::release_v, active.machine.id());
  const auto at = static_cast<size_t>(std::ranges::find(all, active.generator) - all.begin());
  active.generator = all[(at + 1) % all.size()];
  active.machine.session_lost();
}

void RolloutState::replace_lost_peers() {
  std::erase_if(sandbox_load_, [this](const auto& entry) {
    return std::ranges::none_of(peers_->sandboxes,
                                [&](const SandboxActor& s) { return s.address() == entry.first; });
  });
  for (const TrajectoryId id : active_ids()) {
    if (const auto found = active_.find(id); found != active_.end()) {
      replace_lost_peers(id, found->second);
    }
  }
}

/// Repeats the request that a dead peer had, or that was held for its successor. Counts as one
/// failure of the step.
void RolloutState::replace_lost_peers(TrajectoryId id, ActiveTrajectory& active) {
  const RolloutPhase phase = active.machine.phase();
  const char* lost = nullptr;
  if (!contains(peers_->tool_executors, active.executor)) {
    active.executor = round_robin(peers_->tool_executors, next_executor_);
    active.machine.workspace_lost();
    if (active.machine.is_using_workspace()) lost = "the tool executor ended";
  }
  if (!contains(peers_->generators, active.generator)) {
    active.generator = round_robin(peers_->generators, next_generator_);
    active.machine.session_lost();
    if (phase == RolloutPhase::generating) lost = "the generator ended";
  }
  const bool judging = phase == RolloutPhase::judging_tool || phase == RolloutPhase::judging_final;
  if (judging && !contains(peers_->sandboxes, active.sandbox)) lost = "the sandbox ended";
  if (lost == nullptr) return;
  send(id, active.machine.failed(active.machine.request(), {InfraKind::sandbox_lost, lost}));
}

/// The previous synthesis will not answer.
void RolloutState::repeat_task_requests(const SynthesisActor& former) {
  log::info(fmt::format("{}: synthesis {} has a successor: repeating {} requests", label(),
                        former.id(), task_requests_.size()));
  for (auto& [ticket, resumed] : std::exchange(task_requests_, {})) {
    --waiting_slots_;
    request_task(std::move(resumed));
  }
}

void RolloutState::fill_slots() {
  if (!peers_ || drained_) return;
  while (active_.size() + waiting_slots_ < settings_.concurrent) request_task();
}

void RolloutState::slot_failed(const char* what, const caf::error& error) {
  --waiting_slots_;
  log::warn(label() + ": " + what + ": " + from_caf(error).message);
}

/// The ticket outlives the synthesis: see repeat_task_requests.
void RolloutState::request_task(std::optional<Admission> resumed) {
  ++waiting_slots_;
  if (!resumed && !unused_tasks_.empty()) {
    const PreparedTask kept = std::move(unused_tasks_.front());
    unused_tasks_.pop_front();
    return request_admission(kept);
  }
  const uint64_t ticket = ++tickets_;
  const auto& kept = task_requests_.emplace(ticket, std::move(resumed)).first->second;
  const auto arrived = [this, ticket](const PreparedTask& task) { task_arrived(ticket, task); };
  const auto failed = [this, ticket](const caf::error& error) { no_task(ticket, error); };
  const SynthesisActor& synthesis = peers_->synthesis;
  if (kept) {
    ask(self_, *this, "named_task", synthesis, settings_.admission_timeout, atom::next_task_v,
        kept->task.id)
        .then(arrived, failed);
  } else {
    ask(self_, *this, "task", synthesis, settings_.admission_timeout, atom::next_task_v)
        .then(arrived, failed);
  }
}

void RolloutState::task_arrived(uint64_t ticket, const PreparedTask& task) {
  const auto node = task_requests_.extract(ticket);
  if (node.empty()) return;
  if (node.mapped()) return begin(task, *node.mapped());
  request_admission(task);
}

void RolloutState::no_task(uint64_t ticket, const caf::error& error) {
  if (receiver_is_gone(error)) return;  // repeated once the successor is known
  const auto node = task_requests_.extract(ticket);
  if (node.empty()) return;
  slot_failed("no task", error);
  if (!node.mapped()) {
    drained_ = drained_ || from_caf(error).code == ErrorCode::not_found;
    return;
  }
  // The ticket was for a trajectory to resume.
  const Dropped dropped{node.mapped()->trajectory, DropReason::infrastructure,
                        from_caf(error).message};
  ask(self_, *this, "dropped", peers_->ledger, settings_.ledger_timeout, dropped)
      .then([](bool) {}, [this](const caf::error& e) { ledger_failed(e); });
}

void RolloutState::request_admission(const PreparedTask& task) {
  ask(self_, *this, "admitted", peers_->ledger, settings_.admission_timeout, atom::admit_v,
      task.task)
      .then([this, task](Admission& admission) { admitted(task, admission); },
            [this](const caf::error& error) { slot_failed("no admission", error); });
}

void RolloutState::admitted(const PreparedTask& asked, Admission& admission) {
  if (!admission.granted) {
    --waiting_slots_;
    drained_ = unused_tasks_.empty();  // the run admits nothing more
    return;
  }
  // A trajectory resumes instead: it needs its own task, and the requested task is still unused.
  if (admission.resumed && !asked.task.id.empty()) {
    unused_tasks_.push_back(asked);
    drained_ = false;  // another slot may have been refused meanwhile
  }
  if (admission.task.id == asked.task.id) return begin(asked, admission);
  --waiting_slots_;
  request_task(std::move(admission));
}

/// An earlier rollout may have left a session and a workspace at any peer.
void RolloutState::release_everywhere(TrajectoryId id) {
  for (const auto& generator : peers_->generators) self_->send(generator, atom::release_v, id);
  for (const auto& executor : peers_->tool_executors) self_->send(executor, atom::release_v, id);
}

void RolloutState::begin(PreparedTask task, const Admission& admission) {
  --waiting_slots_;
  if (admission.resumed) release_everywhere(admission.trajectory);
  policy::MarkedText prompt = settings_.prompt(task);
  const auto [place, is_new] = active_.try_emplace(
      admission.trajectory,
      ActiveTrajectory{RolloutMachine{settings_.setup, std::move(task), std::move(prompt)},
                       round_robin(peers_->generators, next_generator_),
                       round_robin(peers_->tool_executors, next_executor_),
                       {},
                       SteadyClock::now()});
  if (is_new) send(admission.trajectory, place->second.machine.admitted(admission));
}

void RolloutState::tokens(const TokenChunk& chunk) {
  const auto found = active_.find(chunk.session);
  if (found == active_.end()) return;
  found->second.last_chunk = SteadyClock::now();
  send(chunk.session, found->second.machine.tokens(chunk));
}

void RolloutState::send(TrajectoryId id, const RolloutCommands& commands) {
  for (const RolloutCommand& command : commands) {
    const auto found = active_.find(id);
    if (found == active_.end()) return;
    std::visit([&](const auto& c) { send(found->second, c); }, command);
  }
  const auto found = active_.find(id);
  if (found != active_.end() && found->second.machine.over()) {
    active_.erase(found);
    fill_slots();
  }
}

/// Handles the error of a request: waits if the receiver has no room or is gone; any other error is
/// a failure of the step.
void RolloutState::request_failed(TrajectoryId id, uint32_t request, const caf::error& error) {
  const auto found = active_.find(id);
  if (found == active_.end() || found->second.machine.request() != request) return;
  const Error failure = from_caf(error);
  if (failure.code == ErrorCode::capacity) {
    found->second.no_room = request;
    return;
  }
  if (receiver_is_gone(error)) {
    found->second.held = request;
    found->second.held_since = SteadyClock::now();
    return;
  }
  // A brain's endpoint or folder has no answer for this trajectory, and a retry would not help.
  if (failure.code == ErrorCode::unsupported) {
    return send(id, found->second.machine.unanswered(request, failure.message));
  }
  // The disk would be full for the next trajectory too. This one stays open for a resume.
  if (failure.code == ErrorCode::disk_full) return report_failure(failure);
  const auto kind =
      failure.code == ErrorCode::timeout ? InfraKind::deadline : InfraKind::sandbox_lost;
  send(id, found->second.machine.failed(request, {kind, failure.message}));
}

void RolloutState::send(ActiveTrajectory& active, const GenerateCall& call) {
  active.last_chunk = SteadyClock::now();
  ask(self_, *this, "generating", active.generator, settings_.generate_timeout, call)
      .then([](bool) {}, [this, id = call.session, request = call.turn](
                             const caf::error& error) { request_failed(id, request, error); });
}

void RolloutState::send(ActiveTrajectory& active, const ToolCall& call) {
  ask(self_, *this, "tool_answered", active.executor, settings_.tool_timeout, call)
      .then(
          [this](const ToolAnswer& answer) {
            const auto found = active_.find(answer.trajectory);
            if (found == active_.end()) return;
            send(answer.trajectory, found->second.machine.tool_answered(answer));
          },
          [this, id = call.trajectory, request = call.turn](const caf::error& error) {
            request_failed(id, request, error);
          });
}

/// A dead sandbox has no load, so the comparison puts dead ones last.
const SandboxActor& RolloutState::least_busy_sandbox() {
  return *std::ranges::min_element(peers_->sandboxes, {}, [this](const SandboxActor& s) {
    return std::pair{dead_sandboxes_.contains(s.address()), sandbox_load_[s.address()]};
  });
}

void RolloutState::send(ActiveTrajectory& active, const EvaluateCall& call) {
  active.sandbox = least_busy_sandbox();
  const caf::actor_addr at = active.sandbox.address();
  ++sandbox_load_[at];
  const auto answered = [this, at] {
    if (const auto found = sandbox_load_.find(at); found != sandbox_load_.end()) --found->second;
  };
  ask(self_, *this, "judged", active.sandbox, settings_.judge_timeout, call)
      .then(
          [this, answered, call](const Judgement& judgement) {
            answered();
            judged(call, judgement);
          },
          [this, answered, at, id = call.trajectory, request = call.turn](const caf::error& error) {
            answered();
            if (receiver_is_gone(error)) dead_sandboxes_.insert(at);
            request_failed(id, request, error);
          });
}

void RolloutState::judged(const EvaluateCall& call, const Judgement& judgement) {
  const TrajectoryId id = call.trajectory;
  const auto found = active_.find(id);
  if (found == active_.end() || found->second.machine.request() != call.turn) return;
  if (const auto* verdict = std::get_if<Verdict>(&judgement)) {
    const bool final = call.request.want == Request::final;
    const uint32_t turn = found->second.machine.turn();
    if (settings_.judged) settings_.judged(id, turn, call.request, *verdict);
    self_->send(peers_->ledger, Judged{id, turn, final, *verdict, call.request.submission.files});
  } else {
    const auto& failure = std::get<InfraFailure>(judgement);
    log::warn(fmt::format("{}: trajectory {} has no verdict: {}: {}", label(), id,
                          to_string(failure.kind), failure.detail));
  }
  send(id, found->second.machine.judged(call.turn, judgement));
}

void RolloutState::report_failure(const Error& why) {
  self_->send(peers_->supervisor, FailureReport{label(), why.code, why.message});
}

/// An unrecorded change must not be trained, so the run stops; it can resume from the disk.
void RolloutState::ledger_failed(const caf::error& error) {
  const Error why = from_caf(error);
  report_failure({why.code, "the ledger refused: " + why.message});
  self_->quit(error);
}

void RolloutState::send(ActiveTrajectory& /*active*/, const Segment& segment) {
  ask(self_, *this, "recorded", peers_->ledger, settings_.ledger_timeout, segment)
      .then([](uint32_t) {}, [this](const caf::error& error) { ledger_failed(error); });
}

void RolloutState::send(ActiveTrajectory& active, const Closed& closed) {
  self_->send(peers_->synthesis, TaskOutcome{active.machine.task().task.id, closed.outcome});
  ask(self_, *this, "closed", peers_->ledger, settings_.ledger_timeout, closed)
      .then([](bool) {}, [this](const caf::error& error) { ledger_failed(error); });
}

void RolloutState::send(ActiveTrajectory& /*active*/, const Dropped& dropped) {
  log::info(
      fmt::format("{}: trajectory {} dropped: {}", label(), dropped.trajectory, dropped.detail));
  ask(self_, *this, "dropped", peers_->ledger, settings_.ledger_timeout, dropped)
      .then([](bool) {}, [this](const caf::error& error) { ledger_failed(error); });
}

void RolloutState::send(ActiveTrajectory& active, const ReleaseSession& release) {
  self_->send(active.generator, atom::release_v, release.trajectory);
}

void RolloutState::send(ActiveTrajectory& active, const ReleaseWorkspace& release) {
  self_->send(active.executor, atom::release_v, release.trajectory);
}

void RolloutState::describe(ActorStatus& status) const {
  status.phase = drained_ ? "draining" : "sampling";
  status.queued = waiting_slots_;
  std::map<std::string, double>& gauges = status.gauges;
  gauges["running"] = static_cast<double>(active_.size());
  for (const auto& [id, active] : active_)
    gauges[std::string{to_string(active.machine.phase())}] += 1;
}

RolloutSelf::behavior_type rollout(RolloutState::Self self, Identity identity,
                                   RolloutSettings settings) {
  set_up_actor(self, std::move(identity));
  self->state.start(self, std::move(settings));
  return {on(self, "status", &RolloutState::status), on(self, "peers", &RolloutState::peers),
          on(self, "tokens", &RolloutState::tokens), on(self, "tick", &RolloutState::tick)};
}

}  // namespace warpsmith::actors
