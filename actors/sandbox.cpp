// SPDX-License-Identifier: Apache-2.0
#include "actors/sandbox.hpp"

#include "actors/errors.hpp"
#include "actors/inspect.hpp"
#include "actors/sandbox_worker.hpp"

namespace warpsmith::actors {
namespace {

/// What the asker gets when the worker itself failed: a type, never a verdict.
EvaluateReply infra_reply(TrajectoryId trajectory, const Error& error) {
  const auto kind =
      error.code == ErrorCode::timeout ? InfraKind::deadline : InfraKind::sandbox_lost;
  return {trajectory, InfraFailure{kind, error.message}};
}

}  // namespace

void SandboxState::start(Self self, SandboxBackendFactory factory, SandboxSettings settings) {
  self_ = self;
  settings_ = settings;
  const Identity identity{label() + "-worker", tap()};
  worker_ =
      settings.detached
          ? self->spawn<caf::detached + caf::linked>(sandbox_worker, identity, factory, settings)
          : self->spawn<caf::linked>(sandbox_worker, identity, factory, settings);
}

void SandboxState::next() {
  busy_ = !waiting_.empty();
  if (!busy_) return;
  auto job = std::move(waiting_.front());
  waiting_.pop_front();
  job();
}

template <class Out, class Failed, class... Call>
caf::result<Out> SandboxState::enqueue(std::chrono::milliseconds budget, Failed failed,
                                       Call... call) {
  if (waiting_.size() >= settings_.max_queue) {
    return to_caf({ErrorCode::capacity, label() + ": its queue is full"});
  }
  auto promise = self_->make_response_promise<Out>();
  waiting_.emplace_back([=, this]() mutable {
    // Twice the backend's own budget: it reports its deadline itself unless it hangs.
    self_->request(worker_, 2 * budget, call...)
        .then(
            [this, promise](Out& out) mutable {
              promise.deliver(std::move(out));
              next();
            },
            [this, promise, failed](caf::error& error) mutable {
              promise.deliver(failed(error));
              next();
            });
  });
  if (!busy_) next();
  return promise;
}

caf::result<EvaluateReply> SandboxState::evaluate(EvaluateCall& call) {
  auto failed = [id = call.trajectory](const caf::error& error) {
    return infra_reply(id, from_caf(error));
  };
  return enqueue<EvaluateReply>(settings_.evaluate_budget, failed, std::move(call));
}

caf::result<TaskFacts> SandboxState::ingest(atom::ingest ask, Task& task) {
  auto failed = [](const caf::error& error) { return error; };
  return enqueue<TaskFacts>(settings_.ingest_budget, failed, ask, std::move(task));
}

void SandboxState::describe(ActorStatus& status) const {
  status.phase = busy_ ? "judging" : "idle";
  status.queued = waiting_.size();
}

SandboxActor::behavior_type sandbox(SandboxActor::stateful_pointer<SandboxState> self,
                                    Identity identity, SandboxBackendFactory factory,
                                    SandboxSettings settings) {
  adopt(self, std::move(identity));
  self->state.start(self, std::move(factory), settings);
  return {on(self, "status", &SandboxState::status), on(self, "evaluate", &SandboxState::evaluate),
          on(self, "ingest", &SandboxState::ingest)};
}

}  // namespace warpsmith::actors
