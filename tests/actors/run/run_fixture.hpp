// SPDX-License-Identifier: Apache-2.0
// The whole tree with the real ledger, learner, generator, tools and rollouts. Only the sandbox is
// scripted, so that no jail and no torch worker is needed.
#pragma once

#include <gtest/gtest.h>

#include <caf/actor_system.hpp>
#include <caf/scoped_actor.hpp>
#include <condition_variable>
#include <mutex>
#include <set>

#include "actors/protocol/errors.hpp"
#include "actors/protocol/inspect.hpp"
#include "actors/run/run_tree.hpp"
#include "actors/sandbox/sandbox.hpp"
#include "actors/supervisor/supervisor.hpp"
#include "runtime/cuda/device_error.hpp"
#include "runtime/run/run_queries.hpp"
#include "tests/support/temporary_folder.hpp"

namespace warpsmith::actors {

/// Ends an actor once, at the nth delivery to one of its handlers.
struct Fault {
  std::string actor;
  std::string handler;
  int nth = 1;
  bool in_call = false;  // while the sandbox's worker has a call in progress
  bool device = false;   // throws like a backend whose GPU is lost
};

/// Throws in the handler of the fault.
class FaultTap : public Tap {
 public:
  explicit FaultTap(Fault fault) : fault_(std::move(fault)) {}
  void delivered(const Delivery& d) override {
    const std::scoped_lock lock{mutex_};
    if (fired_ || d.actor != fault_.actor || d.handler != fault_.handler) return;
    if (++seen_ < fault_.nth) return;
    fired_ = true;
    changed_.notify_all();
    if (fault_.device) throw cuda::DeviceError("cuLaunchKernel: scripted loss", 999);
    throw std::runtime_error("scripted death");
  }
  bool wait() {
    std::unique_lock lock{mutex_};
    return changed_.wait_for(lock, std::chrono::seconds{120}, [this] { return fired_; });
  }
  bool fired() {
    const std::scoped_lock lock{mutex_};
    return fired_;
  }
  const Fault& fault() const { return fault_; }

 private:
  Fault fault_;
  std::mutex mutex_;
  std::condition_variable changed_;
  int seen_ = 0;
  bool fired_ = false;
};

/// Loses every fifth evaluation, but none twice, so that chance does not use up a step's retries.
/// Shared by all backends of a run.
class Losses {
 public:
  bool loses(const Task& task, const Submission& submission) {
    const std::scoped_lock lock{mutex_};
    if (none || ++calls_ % 5 != 0) return false;
    return lost_.insert({task.id, submission.files}).second;
  }
  bool none = false;  // set before the run

 private:
  std::mutex mutex_;
  std::set<std::pair<std::string, FileSet>> lost_;
  int calls_ = 0;
};

/// Passes every submission that is not lost. For a fault with `in_call`, the nth call waits until
/// its sandbox is dead.
class ScriptedBackend : public sandbox::Backend {
 public:
  ScriptedBackend(Losses& losses, FaultTap* fault, bool refuse_all)
      : losses_(losses), fault_(fault), refuse_all_(refuse_all) {}
  Judgement evaluate(const sandbox::EvaluateRequest& request, Deadline /*deadline*/) override {
    hold();
    if (losses_.loses(request.task, request.submission))
      return InfraFailure{InfraKind::sandbox_lost, "scripted"};
    Verdict verdict;
    verdict.outcome = VerdictClass::passed;
    verdict.feedback = "passed: 5 of 5 sets, worst error 0.1 of the bound";
    return verdict;
  }
  Result<TaskFacts> ingest(const Task& /*task*/, Deadline /*deadline*/) override {
    hold();
    if (refuse_all_) return fail(ErrorCode::invalid_argument, "scripted refusal");
    TaskFacts facts;
    facts.eager_ms = 1;
    facts.signature.tensors = {{"x", TensorRole::input, Dtype::f32, {8, 8}, {"d0", "d0"}},
                               {"y", TensorRole::output, Dtype::f32, {8, 8}, {"d0", "d0"}}};
    facts.signature.dims = {8};
    facts.signature.dim_names = {"d0"};
    return facts;
  }
  void on_progress(sandbox::Progress tell) override { tell_ = std::move(tell); }

 private:
  void hold() {
    if (!fault_ || !fault_->fault().in_call || ++held_ < fault_->fault().nth) return;
    for (int i = 0; i < fault_->fault().nth; ++i) tell_("at work");
    (void)fault_->wait();
  }

  Losses& losses_;
  FaultTap* fault_;
  bool refuse_all_;
  std::function<void(const std::string&)> tell_;
  int held_ = 0;
};

class RunFixture : public ::testing::Test {
 protected:
  RunConfig config(std::vector<std::string> more = {}) const {
    std::vector<std::string> keys{"run.trajectories=24",         "learner.step.trajectories=8",
                                  "ledger.checkpoint_steps=1",   "rollout.concurrent=4",
                                  "supervisor.heartbeat=50",     "agent.max_tokens=512",
                                  "generator.max_new_tokens=200"};
    keys.insert(keys.end(), more.begin(), more.end());
    auto loaded = load_run_config("configs/quickstart.toml", keys);
    if (!loaded) throw std::runtime_error(loaded.error().message);
    loaded->run.folder = folder.path();
    loaded->run.name = "run";
    return *loaded;
  }

  std::shared_ptr<const RunInputs> inputs_of(const RunConfig& c, const RunSession& session) {
    auto inputs = load_inputs(
        c, session.origin.checkpoint.empty() ? c.model.folder : session.origin.checkpoint);
    if (!inputs) throw std::runtime_error(inputs.error().message);
    return with_session(std::move(*inputs), session);
  }

  virtual Spawners spawners_of(const std::shared_ptr<const RunInputs>& inputs) {
    Spawners spawners = make_spawners(inputs);
    spawners.sandbox = [this](caf::actor_system& sys, Identity id, uint32_t /*index*/) {
      const SandboxBackendFactory factory = [this]() -> Result<std::unique_ptr<sandbox::Backend>> {
        return std::make_unique<ScriptedBackend>(losses, fault.get(), refuse_all);
      };
      return sys.spawn(sandbox, std::move(id), SandboxBackends{factory, {}},
                       SandboxActorSettings{});
    };
    return spawners;
  }

  /// Runs until the supervisor is done; orders a stop once `stop_at` trajectories are admitted, or
  /// once an actor has asked for the end and all open trajectories wait for it.
  std::string run(const std::shared_ptr<const RunInputs>& inputs, uint64_t stop_at) {
    ActorSystemConfig cfg{2};
    caf::actor_system system{cfg};
    caf::scoped_actor self{system};
    Tap* const through = fault ? fault.get() : tap.get();
    const auto root = system.spawn(supervisor, Identity{"supervisor", through}, spawners_of(inputs),
                                   supervisor_settings(inputs->config, 0));
    std::string phase;
    const auto deadline = Deadline::after(std::chrono::seconds{240});
    while (phase != "done" && !phase.starts_with("failed") && !deadline.passed()) {
      self->request(root, std::chrono::seconds{60}, atom::status_v)
          .receive(
              [&](const ActorStatus& status) {
                phase = status.phase;
                gauges = status.gauges;
              },
              [&](const caf::error& error) { phase = "failed: " + system.render(error); });
      const bool asked = inputs->end->asked() && inputs->end->held() > 0;
      if (asked || gauges["admitted"] >= static_cast<double>(stop_at)) {
        self->send(root, atom::stop_v);
      }
      // The supervisor reads the ledger's counts every 50 ms.
      self->receive(caf::after(std::chrono::milliseconds{50}) >> [] {});
    }
    self->send_exit(root, caf::exit_reason::user_shutdown);
    return phase;
  }

  RunSummary summary() const {
    auto db = RunDatabase::open(RunPaths{folder.path() / "run"}.database(), SqlAccess::read_only);
    auto read = summarize(*db);
    if (!read) throw std::runtime_error(read.error().message);
    return *read;
  }

  /// A new run from start to end; `summary` reads its record.
  std::string run_whole(const RunConfig& c) {
    auto session = begin_run(c, "test", "{}");
    if (!session) throw std::runtime_error(session.error().message);
    return run(inputs_of(c, *session), UINT64_MAX);
  }

  test_support::TemporaryFolder folder;
  std::unique_ptr<Tap> tap = make_silent_tap();
  std::unique_ptr<FaultTap> fault;  // replaces `tap` if set
  bool refuse_all = false;          // the sandbox refuses every task
  Losses losses;
  std::map<std::string, double> gauges;  // of the supervisor's latest status
};

}  // namespace warpsmith::actors
