// SPDX-License-Identifier: Apache-2.0
// Learner: policy, critic and optimiser of all ranks, on its own thread, behind learner_front.hpp.
// Bounded by the trajectories in flight and by the trainer's own bound on held prefixes. A handler
// takes at most one pack of tokens; only `flush` and a checkpoint requested within a step finish
// that whole step. On a GPU each pack of work holds a share of it, so that kernels are timed
// between two packs. Checkpoints are copied here and written beside it. When it dies, the run stops
// and can resume from its last checkpoint.
#pragma once

#include <caf/typed_response_promise.hpp>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "actors/base/actor_state.hpp"
#include "actors/base/gpu_share.hpp"
#include "actors/learner/checkpoint_writer.hpp"
#include "policy/learn/early_warnings.hpp"
#include "policy/learn/trainer.hpp"

namespace warpsmith::actors {

struct LearnerSettings {
  /// Called on the learner's thread.
  std::function<Result<std::unique_ptr<policy::Trainer>>()> make_trainer;
  CheckpointPlace checkpoints;
  std::shared_ptr<StatusBoard> board = nullptr;  // of the front; null: there is none
  uint32_t checkpoint_steps = 10;                // steps between two checkpoints
  uint32_t keep_checkpoints = 2;
  WarningsConfig warnings;
  std::chrono::milliseconds ledger_timeout{60'000};
  std::chrono::minutes write_timeout{30};  // of one checkpoint
  int threads = 1;                         // LibTorch's, for this actor's work
  int64_t planned_bytes = 0;               // of the GPU; 0 on a CPU
  std::vector<SharedGpu> shared;           // on them each pack of work waits for measurements
  std::chrono::minutes share_timeout{10};  // of that wait
};

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
  struct Asker {
    caf::typed_response_promise<std::string> promise;
    uint32_t step = 0;
  };

  void describe(ActorStatus& status) const override;
  /// Does `work`, on GPUs to its end and while a share of each is held.
  template <class Work>
  auto in_turn(const Work& work) {
    std::deque<ShareTurn> turns;
    for (auto& share : shares_) turns.emplace_back(share, settings_.share_timeout);
    auto result = work();
    wait_for_gpus();
    return result;
  }
  void wait_for_gpus() const;
  Result<void> take(const Segment& segment);
  void go_on();
  void handle(policy::Progress progress);
  void record_drop(const policy::DroppedTrajectory& dropped);
  void step_made(const policy::StepReport& report);
  using Numbers = std::map<std::string, double>;
  /// Adds "warning.NAME", 1 or 0, to the step's numbers. Records as events those that `before`, the
  /// numbers of the step before, does not have.
  void warn_early(const policy::StepReport& report, const Numbers& before);
  void step_recorded();
  void publish();
  bool checkpoint_due() const;
  void finish_step_for_checkpoint();
  void settle_checkpoint();
  void record_checkpoint(PolicyVersion version);
  void checkpoint_failed(const Error& error);
  /// Answers those who waited for `step` or an earlier one; writes again if others wait.
  void answer_askers(uint32_t step, const Result<std::string>& folder);

  Self self_ = nullptr;
  LearnerSettings settings_;
  LedgerActor ledger_;
  LocalWeightStoreActor store_;
  std::unique_ptr<policy::Trainer> trainer_;
  bool scheduled_ = false;  // a step message is in the mailbox
  bool recording_ = false;  // the ledger has not yet answered for the last step
  bool settling_ = false;   // a checkpoint is being written, or the ledger has not yet answered
  uint32_t last_checkpoint_ = 0;          // the newest that the ledger has
  std::optional<PolicyVersion> written_;  // the newest on disk
  CheckpointWriterActor writer_;
  std::vector<Asker> askers_;
  std::map<std::string, double> last_numbers_;
  std::optional<policy::EarlyWarnings> watch_;
  std::vector<std::optional<DeviceShare>> shares_;  // of the learner's GPUs
  int64_t trained_tokens_ = 0;                      // of all forward passes so far
};

LearnerSelf::behavior_type learner(LearnerState::Self self, Identity identity,
                                   LearnerSettings settings, LedgerActor ledger,
                                   LocalWeightStoreActor store);

}  // namespace warpsmith::actors
