// SPDX-License-Identifier: Apache-2.0
// Learner: policy, critic and optimiser of one rank, on a thread of its own. Spawned and watched by
// the supervisor; bounded by the trajectories in flight and by the trainer's own bound on held
// prefixes. A handler takes one pack of tokens at most, but for the end of the run: `flush` and a
// checkpoint asked for within a step finish that step. When it dies the run stops, and goes on from
// its last checkpoint.
#pragma once

#include <caf/typed_response_promise.hpp>
#include <functional>
#include <memory>
#include <vector>

#include "actors/base/actor_state.hpp"
#include "actors/protocol/interfaces.hpp"
#include "policy/learn/trainer.hpp"
#include "runtime/run/checkpoint.hpp"

namespace warpsmith::actors {

struct LearnerSettings {
  /// Called on the learner's thread.
  std::function<Result<std::unique_ptr<policy::Trainer>>()> make_trainer;
  std::shared_ptr<const CheckpointStore> checkpoints;
  /// Files of the model that training does not change (tokenizer), copied into every checkpoint.
  std::function<Result<void>(const std::filesystem::path&)> copy_fixed_files;
  uint32_t checkpoint_steps = 10;  // steps between two checkpoints
  uint32_t keep_checkpoints = 2;
  std::chrono::milliseconds ledger_timeout{60'000};
  int threads = 1;  // of LibTorch, in this actor's thread
};

class LearnerState : public ActorState {
 public:
  using Self = LearnerActor::stateful_pointer<LearnerState>;

  void start(Self self, LearnerSettings settings, LedgerActor ledger, WeightStoreActor store);
  void observe(const Segment& segment);
  void close(const Closed& closed);
  void drop(const Dropped& dropped);
  /// One pack of work; sends itself the next.
  void step(atom::step);
  bool flush(atom::flush);
  caf::result<std::string> checkpoint(atom::checkpoint);

 private:
  using Promise = caf::typed_response_promise<std::string>;

  void describe(ActorStatus& status) const override;
  void go_on();
  void handle(policy::Progress progress);
  void tell_dropped(const policy::DroppedTrajectory& dropped);
  void step_made(const policy::StepReport& report);
  void step_recorded();
  void publish();
  bool checkpoint_due() const;
  void finish_step_for_checkpoint();
  Result<std::string> write_checkpoint();
  void settle_checkpoint();
  void answer_askers(const Result<std::string>& folder);

  Self self_ = nullptr;
  LearnerSettings settings_;
  LedgerActor ledger_;
  WeightStoreActor store_;
  std::unique_ptr<policy::Trainer> trainer_;
  bool scheduled_ = false;  // a step message is on its way
  bool recording_ = false;  // the ledger has not yet answered for the last step
  bool settling_ = false;   // a checkpoint is written, the ledger has not yet answered for it
  uint32_t last_checkpoint_ = 0;
  std::vector<Promise> askers_;  // for a checkpoint
  std::map<std::string, double> last_numbers_;
  int64_t trained_tokens_ = 0;  // forward passes of every step so far
};

LearnerActor::behavior_type learner(LearnerActor::stateful_pointer<LearnerState> self,
                                    Identity identity, LearnerSettings settings, LedgerActor ledger,
                                    WeightStoreActor store);

}  // namespace warpsmith::actors
