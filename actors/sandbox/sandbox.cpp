// SPDX-License-Identifier: Apache-2.0
#include "actors/sandbox/sandbox.hpp"

#include "actors/protocol/errors.hpp"
#include "actors/protocol/inspect.hpp"
#include "actors/sandbox/slot_cores.hpp"

namespace warpsmith::actors {
namespace {

bool is_lost(const Judgement& judgement) {
  const auto* failure = std::get_if<InfraFailure>(&judgement);
  return failure != nullptr && failure->kind == InfraKind::sandbox_lost;
}

/// The worker of a sandbox: one blocking call at a time. Its mailbox holds at most one call,
/// because the front sends the next one after the answer.
class SandboxWorkerState : public ActorState {
 public:
  using Self = SandboxActor::stateful_pointer<SandboxWorkerState>;

  void start(Self self, SandboxBackendFactory factory, SandboxActorSettings settings,
             SandboxFront front) {
    self_ = self;
    factory_ = std::move(factory);
    settings_ = std::move(settings);
    front_ = std::move(front);
  }

  Judgement evaluate(const EvaluateCall& call) {
    auto judge = backend();
    if (!judge) return InfraFailure{InfraKind::sandbox_lost, judge.error().message};
    auto judgement = (*judge)->evaluate(call.request, Deadline::after(settings_.evaluate_budget()));
    if (is_lost(judgement)) {
      log::warn(label() + ": the service ended during a request: " +
                std::get<InfraFailure>(judgement).detail);
      backend_.reset();
    }
    return judgement;
  }

  caf::result<TaskFacts> ingest(atom::ingest /*unused*/, const Task& task) {
    auto judge = backend();
    if (!judge) return to_caf(judge.error());
    auto facts = (*judge)->ingest(task, Deadline::after(settings_.ingest_budget()));
    if (facts) return std::move(*facts);
    if (facts.error().code == ErrorCode::peer_lost) backend_.reset();
    return to_caf(facts.error());
  }

 private:
  /// Returns the backend, or a new one after a loss. Missing a deadline also loses the backend:
  /// that call has its answer, the next needs a new backend.
  Result<sandbox::Backend*> backend() {
    if (backend_ && backend_->lost()) backend_.reset();
    if (!backend_) {
      TRY(auto made, factory_());
      backend_ = std::move(made);
      backend_->on_progress(
          [this](const std::string& line) { self_->send(front_, atom::progress_v, line); });
    }
    return backend_.get();
  }

  Self self_ = nullptr;
  SandboxBackendFactory factory_;
  SandboxActorSettings settings_;
  SandboxFront front_;
  std::unique_ptr<sandbox::Backend> backend_;
};

SandboxActor::behavior_type sandbox_worker(SandboxWorkerState::Self self, Identity identity,
                                           SandboxBackendFactory factory,
                                           SandboxActorSettings settings, SandboxFront front) {
  set_up_actor(self, std::move(identity));
  self->state.start(self, std::move(factory), std::move(settings), std::move(front));
  return {on(self, "status", &SandboxWorkerState::status),
          on(self, "evaluate", &SandboxWorkerState::evaluate),
          on(self, "ingest", &SandboxWorkerState::ingest)};
}

/// The answer when the worker itself failed: never a verdict.
Judgement infra_of(const Error& error) {
  const auto kind =
      error.code == ErrorCode::timeout ? InfraKind::deadline : InfraKind::sandbox_lost;
  return InfraFailure{kind, error.message};
}

constexpr const char* compile_phase = "compile";

double compile_ms_of(const Verdict& verdict) {
  const auto found = verdict.phase_ms.find(compile_phase);
  return found == verdict.phase_ms.end() ? 0 : found->second;
}

constexpr std::chrono::minutes worker_start{2};  // an ingest's budget begins after it

}  // namespace

std::chrono::milliseconds SandboxActorSettings::ingest_budget() const {
  return config.settings.ingest_timeout + worker_start;
}

SandboxBackends slot_backends(const SandboxConfig& config, const std::string& python,
                              uint32_t index, const std::shared_ptr<sandbox::EndSwitch>& ender) {
  SandboxBackends backends{service_backend(slot_options(config, python, index), ender), {}};
  if (!cores_outside_slots(config).empty()) {
    backends.compiler = service_backend(options_outside_slots(config, python), ender);
  }
  return backends;
}

WorkerQueue SandboxState::spawn_worker(const char* suffix, SandboxBackendFactory factory) {
  const Identity identity{label() + suffix, tap()};
  const auto front = caf::actor_cast<SandboxFront>(self_->ctrl());
  const auto worker = settings_.detached
                          ? self_->spawn<caf::detached + caf::linked>(
                                sandbox_worker, identity, std::move(factory), settings_, front)
                          : self_->spawn<caf::linked>(sandbox_worker, identity, std::move(factory),
                                                      settings_, front);
  return {self_, *this, worker};
}

void SandboxState::start(Self self, SandboxBackends backends, SandboxActorSettings settings) {
  self_ = self;
  settings_ = std::move(settings);
  judging_ = spawn_worker("-worker", std::move(backends.device));
  if (backends.compiler) compiling_ = spawn_worker("-compiler", std::move(backends.compiler));
}

Error SandboxState::no_room() const {
  return {ErrorCode::capacity, label() + ": its queue is full"};
}

caf::result<Judgement> SandboxState::evaluate(EvaluateCall& call) {
  if (full()) return to_caf(no_room());
  auto promise = self_->make_response_promise<Judgement>();
  if (compiling_.has_worker()) {
    compile(promise, call);
  } else {
    judge(promise, call, 0);
  }
  return promise;
}

/// Only a submission that compiles goes to the device, and the device's worker finds it in the
/// cache.
void SandboxState::compile(Promise promise, const EvaluateCall& call) {
  EvaluateCall only = call;
  only.request.want = Request::compile;
  auto then = [this, promise, call](Result<Judgement> answer) mutable -> void {
    if (!answer) return (void)promise.deliver(infra_of(answer.error()));
    const auto* verdict = std::get_if<Verdict>(&*answer);
    const bool compiled = verdict != nullptr && verdict->correct();
    if (!compiled || call.request.want == Request::compile)
      return (void)promise.deliver(std::move(*answer));
    judge(promise, call, compile_ms_of(*verdict));
  };
  compiling_.add<Judgement>(settings_.evaluate_budget(), then, only);
}

void SandboxState::judge(Promise promise, const EvaluateCall& call, double compile_ms) {
  auto then = [this, promise, compile_ms](Result<Judgement> answer) mutable -> void {
    doing_.clear();
    if (!answer) return (void)promise.deliver(infra_of(answer.error()));
    if (auto* verdict = std::get_if<Verdict>(&*answer)) {
      verdict->phase_ms[compile_phase] += compile_ms;
    }
    promise.deliver(std::move(*answer));
  };
  judging_.add<Judgement>(settings_.evaluate_budget(), then, call);
}

caf::result<TaskFacts> SandboxState::ingest(atom::ingest ask, Task& task) {
  if (full()) return to_caf(no_room());
  auto promise = self_->make_response_promise<TaskFacts>();
  auto then = [this, promise](Result<TaskFacts> facts) mutable -> void {
    doing_.clear();
    if (facts) return (void)promise.deliver(std::move(*facts));
    promise.deliver(to_caf(facts.error()));
  };
  judging_.add_deferred<TaskFacts>(settings_.ingest_budget(), then, ask, task);
  return promise;
}

void SandboxState::progress(atom::progress /*unused*/, const std::string& line) {
  doing_ = line;
}

void SandboxState::describe(ActorStatus& status) const {
  status.phase = judging_.busy() ? "judging" : compiling_.busy() ? "compiling" : "idle";
  if (judging_.busy() && !doing_.empty()) status.phase = doing_;
  status.queued = judging_.waiting() + compiling_.waiting();
  status.busy_s = judging_.busy_seconds();  // of the device: the front itself only queues
  status.gauges["compiling_seconds"] = compiling_.busy_seconds();
}

SandboxFront::behavior_type sandbox(SandboxState::Self self, Identity identity,
                                    SandboxBackends backends, SandboxActorSettings settings) {
  set_up_actor(self, std::move(identity));
  self->state.start(self, std::move(backends), std::move(settings));
  return {on(self, "status", &SandboxState::status), on(self, "evaluate", &SandboxState::evaluate),
          on(self, "ingest", &SandboxState::ingest), on(self, "progress", &SandboxState::progress)};
}

}  // namespace warpsmith::actors
