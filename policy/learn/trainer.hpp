// SPDX-License-Identifier: Apache-2.0
// The learner: takes segments while trajectories run and rewards when they end, and makes new
// weights as soon as a step's budget is met, on one rank or several.
#pragma once

#include <deque>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "policy/learn/critic_folder.hpp"
#include "policy/learn/running_trajectories.hpp"
#include "policy/learn/trainer_checkpoint.hpp"
#include "policy/learn/training_step.hpp"
#include "runtime/config/learner_config.hpp"
#include "runtime/trajectory.hpp"

namespace warpsmith::policy {

/// A trainer's settings in addition to its weights.
struct TrainerSetup {
  LearnerConfig learner;
  double temperature = 1.0;  // of the generator; log-probabilities use the same
  uint64_t seed = 0;         // of the run; orders the trajectories of later epochs
  PolicyVersion start;       // of the initial weights
  std::string base;          // the folder of the initial weights; checkpoints with LoRA name it
  std::shared_ptr<const CriticWeights> critic;  // to start from; none: a new one
};

/// Weights of one version, shared and immutable.
struct WeightSnapshot {
  PolicyVersion version;
  std::shared_ptr<const ModelWeights> weights;
};

/// The result of one piece of work.
struct Progress {
  std::optional<StepReport> step;  // if it completed a step
  std::vector<DroppedTrajectory> dropped;
  std::optional<Error> halt;  // see Trainer::halt
};

/// The trajectories and memory in use.
struct TrainerStatus {
  size_t running = 0;              // trajectories observed, not closed
  size_t waiting = 0;              // trajectories closed, gradient not taken
  int64_t bytes = 0;               // of kept prefixes on the device that computes
  int64_t host_bytes = 0;          // of those in host memory
  int64_t offloaded_prefixes = 0;  // so far, because `max_held` was reached
  int64_t released_prefixes = 0;   // so far, because a bound was reached; recomputed when needed
};

/// Owns policy, critic and optimiser. Not thread-safe; the same calls in the same order give the
/// same weights. With several ranks, which are the trainer's own threads, a call that fails on one
/// of them throws and leaves the trainer unusable; the last checkpoint remains.
class Trainer {
 public:
  /// Uses the weights without a copy if they are float32 on the configured device; see
  /// check_placement and check_lora. The KL term's reference is a copy of them. With LoRA they are
  /// the frozen ones, also before `restore`, and the reference itself.
  Trainer(TrainerSetup setup, ModelConfig config, ModelWeights weights);

  /// Takes the next segment of a trajectory; one that is already here changes nothing. With
  /// streamed forwards, this computes values and proximal log-probabilities. After an error the
  /// trajectory is forgotten: `parse_failed` for impossible content, `invalid_argument` for a gap
  /// in the numbers.
  Result<void> observe(const Segment& segment);

  /// Drops a trajectory that has not been used yet.
  void forget(TrajectoryId id);

  /// Takes a trajectory's outcome; `advance` will use it. `not_found` if the trajectory is not
  /// being observed, `invalid_argument` if the reward is not finite.
  Result<void> close(TrajectoryId id, const Outcome& outcome);

  /// True while `advance` has something to do.
  bool has_work() const { return step_->has_work(closed_); }
  /// One bounded piece of work; see TrainingStep::advance.
  Progress advance();
  /// Completes the current step with the collected trajectories, at the end of a run.
  Progress flush();

  /// The newest published weights, in the type and on the device that the learner computes with;
  /// copied once per step, and complete.
  WeightSnapshot weights() const { return published_; }
  PolicyVersion version() const { return state_.mark.version; }
  TrainerStatus status() const;
  /// Why training must stop: too many updates in a row were skipped, or too many segments in a row
  /// were refused because of their content.
  std::optional<Error> halt() const;
  /// True when `observe` runs forwards.
  bool streams() const { return setup_.learner.forwards == ForwardMode::streamed; }
  const ModelConfig& model_config() const { return state_.networks().config(); }

  /// True between the first and the last update of a step, when `snapshot` is refused.
  bool mid_step() const { return !state_.mark.published; }
  /// A checkpoint to be written. `invalid_argument` while `mid_step`. Gradients of the current step
  /// are not in it: a resumed run gets its trajectories again.
  Result<TrainerSnapshot> snapshot() const;
  /// Replaces all state by a checkpoint and begins incarnation `incarnation`.
  Result<void> restore(const std::filesystem::path& folder, uint32_t incarnation);

 private:
  TrainingItem make_training_item(HeldTrajectory held, const Outcome& outcome) const;
  void begin_step();
  std::vector<Transformer> first_policies() const;

  TrainerSetup setup_;
  TrainerState state_;
  RunningTrajectories running_;
  std::deque<TrainingItem> closed_;  // oldest first
  WeightSnapshot published_;
  std::optional<TrainingStep> step_;
};

}  // namespace warpsmith::policy
