// SPDX-License-Identifier: Apache-2.0
// Learner: policy, critic and optimiser of all ranks, on its own thread, and the front for other
// actors. Bounded by the trajectories in flight and by the trainer's bound on kept prefixes. A
// handler takes at most one pack of tokens; only `flush` and a checkpoint requested within a step
// finish that whole step. On a GPU each pack of work holds a share of it, so that kernels are timed
// between packs. The learner copies a checkpoint, and a writer with its own thread writes it while
// training continues. When the learner dies, the run stops and can resume from its last checkpoint.
#pragma once

#include <caf/typed_response_promise.hpp>
#include <chrono>
#include <deque>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "actors/base/actor_state.hpp"
#include "actors/base/gpu_share.hpp"
#include "actors/protocol/interfaces.hpp"
#include "actors/protocol/local_messages.hpp"
#include "actors/weights/weight_store.hpp"
#include "policy/learn/memory_plan.hpp"
#include "policy/learn/step_report.hpp"
#include "policy/learn/trainer.hpp"
#include "runtime/config/run_config.hpp"
#include "runtime/run/checkpoint.hpp"

namespace warpsmith::actors {

/// Where checkpoints are written, and their additional files.
struct CheckpointPlace {
  std::shared_ptr<const CheckpointStore> store;
  /// Files of the model that training does not change (tokenizer), copied into every checkpoint.
  std::function<Result<void>(const std::filesystem::path&)> copy_fixed_files;
};

struct LearnerSettings {
  /// Called on the learner's thread.
  std::function<Result<std::unique_ptr<policy::Trainer>>()> make_trainer;
  CheckpointPlace checkpoints;
  std::shared_ptr<StatusBoard> board = nullptr;  // of the front; null: no front
  uint32_t checkpoint_steps = 10;                // steps between two checkpoints
  uint32_t keep_checkpoints = 2;
  WarningsConfig warnings;
  std::chrono::milliseconds ledger_timeout{60'000};
  std::chrono::minutes write_timeout{30};  // of one checkpoint
  int threads = 1;                         // LibTorch's, for this actor's work
  int64_t planned_bytes = 0;               // of the GPU; 0 on a CPU
  std::vector<SharedGpu> shared;           // each pack of work waits until no measurement uses them
  std::chrono::minutes share_timeout{10};  // of that wait
};

/// The policy before the first step of this incarnation.
struct TrainerStart {
  policy::ModelConfig model;
  policy::ModelWeights weights;  // replaced by the origin's checkpoint, if it has one
  Origin origin;
  std::shared_ptr<const policy::CriticWeights> critic = nullptr;  // likewise; none: a new one
};

/// The memory that a run's learner needs, computed before its tensors are made.
policy::LearnerMemory learner_memory(const RunConfig& config, const policy::ModelConfig& model);

LearnerSettings learner_settings(const RunConfig& config, TrainerStart start,
                                 std::shared_ptr<const CheckpointStore> checkpoints);

/// The learner with its message to itself: one pack of work, sent while there is work.
using LearnerSelf = LearnerActor::extend<caf::reacts_to<atom::step>>;

class LearnerState : public ActorState {
 public:
  using Self = LearnerSelf::stateful_pointer<LearnerState>;

  void start(Self self, LearnerSettings settings, LedgerActor ledger, LocalWeightStoreActor store);
  void observe(const Segment& segment);
  void close(const Closed& closed);
  void drop(const Dropped& dropped);
  void step(atom::step);
  bool flush(atom::flush);
  caf::result<std::string> checkpoint(atom::checkpoint);

 private:
  /// A request for a checkpoint of `step` or a later one.
  struct CheckpointRequest {
    caf::typed_response_promise<std::string> promise;
    uint32_t step = 0;
  };

  void describe(ActorStatus& status) const override;
  /// Does `work` while holding a share of each of the learner's GPUs, and waits for the GPUs.
  template <class Work>
  auto on_gpus(const Work& work) {
    std::deque<ShareHold> holds;
    for (auto& share : shares_) holds.emplace_back(share, settings_.share_timeout);
    auto result = work();
    wait_for_gpus();
    return result;
  }
  void wait_for_gpus() const;
  Result<void> forward_pass(const Segment& segment);
  void schedule_work();
  void handle_progress(policy::Progress progress);
  void record_drop(const policy::DroppedTrajectory& dropped);
  void step_made(const policy::StepReport& report);
  using Numbers = std::map<std::string, double>;
  /// Adds "warning.NAME", 1 or 0, to the step's numbers. Records an event for each warning that is
  /// not in `before`, the numbers of the previous step.
  void warn_early(const policy::StepReport& report, const Numbers& before);
  void step_recorded();
  void publish();

  // Checkpoints: the ledger records a step, then its checkpoint may be written
  bool checkpoint_due() const;
  void finish_step_for_checkpoint();
  void write_checkpoint();
  void record_checkpoint(PolicyVersion version);
  void checkpoint_failed(const Error& error);
  /// Answers the requests for `step` or an earlier one; writes again if others wait.
  void answer_checkpoint_requests(uint32_t step, const Result<std::string>& folder);

  Self self_ = nullptr;
  LearnerSettings settings_;
  LedgerActor ledger_;
  LocalWeightStoreActor store_;
  std::unique_ptr<policy::Trainer> trainer_;
  bool scheduled_ = false;                // a step message is in the mailbox
  bool recording_ = false;                // the ledger has not yet answered for the last step
  bool writing_checkpoint_ = false;       // or the ledger has not yet recorded it
  uint32_t last_checkpoint_ = 0;          // the newest recorded in the ledger
  std::optional<PolicyVersion> written_;  // the newest on disk
  CheckpointWriterActor writer_;
  std::vector<CheckpointRequest> checkpoint_requests_;
  std::map<std::string, double> last_numbers_;
  std::optional<policy::EarlyWarnings> early_warnings_;
  std::vector<std::optional<DeviceShare>> shares_;  // of the learner's GPUs
  int64_t trained_tokens_ = 0;                      // of all forward passes so far
};

LearnerSelf::behavior_type learner(LearnerState::Self self, Identity identity,
                                   LearnerSettings settings, LedgerActor ledger,
                                   LocalWeightStoreActor store);

/// The learner as other actors see it: forwards everything to the learner that computes, and
/// answers status requests for it, since these would otherwise wait for seconds.
class LearnerFrontState : public ActorState {
 public:
  using Self = LearnerActor::stateful_pointer<LearnerFrontState>;

  void start(Self self, LearnerActor worker, std::shared_ptr<const StatusBoard> board,
             std::chrono::milliseconds busy_limit);
  /// Once the worker has been in one handler for longer than `busy_limit`, passes the request on to
  /// the worker, so that a stuck worker leaves it unanswered.
  caf::result<ActorStatus> status(atom::status);
  void observe(const Segment& segment);
  void close(const Closed& closed);
  void drop(const Dropped& dropped);
  caf::result<bool> flush(atom::flush);
  caf::result<std::string> checkpoint(atom::checkpoint);

 private:
  Self self_ = nullptr;
  LearnerActor worker_;
  std::shared_ptr<const StatusBoard> board_;
  std::chrono::milliseconds busy_limit_{0};
};

/// Spawns the worker, linked to the front.
using SpawnLearner =
    std::function<LearnerActor(LearnerFrontState::Self front, std::shared_ptr<StatusBoard> board)>;

/// If the worker ends, the front ends with the same reason; if the front ends, so does the worker.
LearnerActor::behavior_type learner_front(LearnerFrontState::Self self, Identity identity,
                                          const SpawnLearner& spawn,
                                          std::chrono::milliseconds busy_limit);

}  // namespace warpsmith::actors
