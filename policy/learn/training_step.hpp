// SPDX-License-Identifier: Apache-2.0
// One optimiser step: collects closed trajectories, adds up their gradients pack by pack on all
// ranks, updates the trainer's state, reports.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "policy/learn/advantage.hpp"
#include "policy/learn/gradient_accumulator.hpp"
#include "policy/learn/lora.hpp"
#include "policy/learn/replicas.hpp"
#include "policy/learn/step_cycle.hpp"
#include "policy/learn/step_report.hpp"
#include "runtime/config/learner_config.hpp"

namespace warpsmith::policy {

/// Updates that were skipped because a number was not finite, or segments that were refused because
/// of their content, one after the other.
struct FailureStreak {
  int64_t in_a_row = 0;
  std::string last;  // the fault of the newest one
};

/// The state that training changes; a checkpoint contains it.
struct TrainerState {
  const ActorCritic& networks() const { return ranks.first().networks; }

  Replicas ranks;
  WeightsMark mark;                // identifies the weights
  RestoredSteps restored;          // of this incarnation and those that led to it
  std::optional<LoraOrigin> lora;  // of the policy's adapters, if it has any
  FailureStreak skipped;           // updates; not part of a checkpoint
  FailureStreak refused;           // segments; not part of a checkpoint
  PromptBaseline prompts;
  RunningScale scale;
};

/// A trajectory that will not be trained.
struct DroppedTrajectory {
  TrajectoryId id = 0;
  DropReason reason = DropReason::stale;
};

/// An update is applied only if all of these are finite.
struct UpdateNumbers {
  double policy_loss = 0;
  double value_loss = 0;
  double policy_norm = 0;  // of the summed gradient
  double critic_norm = 0;
};

class TrainingStep {
 public:
  /// `seed` orders the trajectories of later epochs. `first`: a copy of the policy that the step
  /// begins with, for each rank.
  TrainingStep(const LearnerConfig& config, uint64_t seed, std::vector<Transformer> first)
      : config_(config),
        seed_(seed),
        first_(std::move(first)),
        accumulators_(first_.size(), GradientAccumulator{config}),
        cycle_(config.step) {}

  /// True if `advance` has work to do with `closed` trajectories waiting.
  bool has_work(const std::deque<TrainingItem>& closed) const;
  /// Does one pack (`pack_tokens`) on each rank forward and backward, and the update that they may
  /// complete. While the step collects, packs come from the front of `closed`. An update whose
  /// losses or gradients are not finite is skipped and counted in `state.skipped`. Tokens with a
  /// lag beyond `max_lag` get m = 0. Trajectories without a token to train go to `dropped`.
  void advance(TrainerState& state, std::deque<TrainingItem>& closed,
               std::vector<DroppedTrajectory>& dropped);
  /// Ends collecting, so that `advance` completes the step. No effect if nothing was collected.
  void close() { cycle_.close(); }

  int64_t collected() const { return cycle_.collected(); }
  bool is_finished() const { return cycle_.phase() == StepPhase::finished; }
  /// Sets the version of a finished step's weights, updates the running baselines, and reports.
  StepReport finish(TrainerState& state);

 private:
  using Pack = std::vector<TrainingItem*>;

  bool admit(TrainingItem item, const TrainerState& state, std::vector<DroppedTrajectory>& dropped);
  using Packs = std::vector<Pack>;  // one for each rank
  Packs next_collected(const TrainerState& state, std::deque<TrainingItem>& closed,
                       std::vector<DroppedTrajectory>& dropped);
  Packs next_repeated(uint32_t step);
  void order_epoch(uint32_t step);
  void run_packs(TrainerState& state, const Packs& packs);
  PassOptions pass_of(const TrainerState& state, size_t rank) const;
  void count(const Packs& packs);
  void update(TrainerState& state);
  void apply(TrainerState& state, const UpdateNumbers& numbers, double scale);
  void skip(TrainerState& state, const UpdateNumbers& numbers);
  void update_baselines(TrainerState& state) const;

  GradientScope gradient_scope(const TrainerState& state) const;
  double divisor(const TrainerState& state) const;

  LearnerConfig config_;
  uint64_t seed_;
  std::vector<Transformer> first_;                 // of each rank
  std::vector<GradientAccumulator> accumulators_;  // likewise
  StepCycle cycle_;
  std::deque<TrainingItem> items_;  // a deque: packs point into it while it grows
  std::vector<size_t> order_;       // of the current epoch, indices of `items_`
  StepReport report_;               // so far
};

}  // namespace warpsmith::policy
