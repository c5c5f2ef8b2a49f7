// SPDX-License-Identifier: Apache-2.0
// One rank of the learner: takes segments while trajectories run, their rewards when they end, and
// makes new weights as soon as a step's budget is met. No trajectory waits for another.
#pragma once

#include <deque>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "policy/learn/accumulator.hpp"
#include "policy/learn/actor_critic.hpp"
#include "policy/learn/adamw.hpp"
#include "policy/learn/baselines.hpp"
#include "policy/learn/step_cycle.hpp"
#include "policy/learn/step_report.hpp"
#include "policy/learn/streaming_forward.hpp"
#include "runtime/config/learner_config.hpp"
#include "runtime/trajectory.hpp"

namespace warpsmith::policy {

/// What a trainer is made for, beside its weights.
struct TrainerSetup {
  LearnerConfig learner;
  double temperature = 1.0;  // of the generator: log-probabilities are taken at it on both sides
  uint64_t seed = 0;         // of the run; orders the trajectories of later epochs
  PolicyVersion start;       // of the weights that it is given
};

/// Weights of one version, shared and never changed again.
struct WeightSnapshot {
  PolicyVersion version;
  std::shared_ptr<const ModelWeights> weights;
};

/// A trajectory that will not be trained.
struct DroppedTrajectory {
  TrajectoryId id = 0;
  DropReason reason = DropReason::stale;
};

/// What a piece of work brought about.
struct Progress {
  std::optional<StepReport> step;
  std::vector<DroppedTrajectory> dropped;
};

/// What is held right now.
struct TrainerStatus {
  size_t running = 0;             // observed, not closed
  size_t waiting = 0;             // closed, gradient not taken
  int64_t bytes = 0;              // of running trajectories with their kept prefixes
  int64_t released_prefixes = 0;  // so far, because `max_held` was reached; recomputed when needed
};

/// Owns policy, critic and optimiser. Not thread-safe; the same calls in the same order give the
/// same weights. Segments and outcomes of other ranks' trajectories never come here.
class Trainer {
 public:
  /// Takes the weights over (no copy). `reference` for the KL term: the given weights if empty.
  Trainer(TrainerSetup setup, ModelConfig config, ModelWeights weights,
          const std::optional<ModelWeights>& reference = std::nullopt);

  /// Takes the next segment of a trajectory; one that is already here changes nothing. With
  /// streamed forwards, this is where values and proximal log-probabilities are computed.
  /// `parse_failed` for impossible content, `invalid_argument` for a gap in the numbers.
  Result<void> observe(const Segment& segment);

  /// The trajectory is gone: frees what is held of it. Nothing if its gradient was taken already.
  void forget(TrajectoryId id);

  /// The trajectory ended with this outcome; `advance` will use it. `not_found` if it was never
  /// observed, `invalid_argument` if the reward is not finite.
  Result<void> close(TrajectoryId id, const Outcome& outcome);

  /// True while `advance` has something to do.
  bool has_work() const;
  /// One bounded piece of work: one pack (`pack_tokens`) forward and backward, with an optimiser
  /// update if it completes a minibatch. Tokens older than the bound count m = 0; a trajectory with
  /// none left is dropped.
  Progress advance();

  /// Makes the step under way out of what it has, at the end of a run.
  Progress flush();

  /// The newest published weights. Cheap: made once per step.
  WeightSnapshot weights() const { return published_; }
  PolicyVersion version() const { return mark_.version; }
  TrainerStatus status() const;
  /// True when `observe` runs forwards.
  bool streams() const { return setup_.learner.forwards == ForwardMode::streamed; }
  const ModelConfig& model_config() const { return networks_.config(); }

  /// True between the first and the last update of a step, when `save` is refused.
  bool mid_step() const { return !mark_.published; }
  /// Writes policy, critic, optimiser and running numbers into `folder` (which exists).
  /// `invalid_argument` while `mid_step`. A gradient that is being collected is not
  /// saved: the ledger brings its trajectories again.
  Result<void> save(const std::filesystem::path& folder) const;
  /// Replaces all of them by what `save` wrote, and begins incarnation `incarnation`.
  Result<void> restore(const std::filesystem::path& folder, uint32_t incarnation);

 private:
  struct Running {
    HeldTrajectory held;
    std::optional<KeptPrefix> prefix;
  };

  void collect(Progress& progress);
  void repeat();
  void run_pack(const std::vector<TrainingItem*>& pack);
  std::vector<TrainingItem*> next_collected(Progress& progress);
  bool admit(TrainingItem item, Progress& progress);
  std::vector<TrainingItem*> next_repeated();
  void order_epoch();
  void update();
  void note_update(double policy_norm, double critic_norm);
  void learn_baselines();
  StepReport make_report();
  void finish_step(Progress& progress);
  void publish();
  void begin_incarnation(PolicyVersion version, uint64_t updates);
  Reach reach() const;
  TrainingItem make_training_item(HeldTrajectory held, const Outcome& outcome) const;
  void stream(Running& running);
  int64_t held_bytes() const;

  TrainerSetup setup_;
  ActorCritic networks_;
  AdamW optimiser_;
  Accumulator accumulator_;
  PromptBaseline prompts_;
  RunningScale scale_;
  WeightsMark mark_;
  WeightSnapshot published_;

  std::map<TrajectoryId, Running> running_;
  std::deque<TrainingItem> waiting_;
  std::deque<TrainingItem> step_items_;  // a deque: packs point into it while it grows
  StepCycle cycle_;
  std::vector<size_t> order_;  // of the epoch under way, into step_items_
  StepReport draft_;           // of the step under way
  int64_t released_prefixes_ = 0;
};

}  // namespace warpsmith::policy
