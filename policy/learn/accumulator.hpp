// SPDX-License-Identifier: Apache-2.0
// Gradients of packs of trajectories, summed until an optimiser update uses them.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "policy/learn/actor_critic.hpp"
#include "policy/learn/losses.hpp"
#include "policy/learn/ratio_statistics.hpp"
#include "policy/learn/training_item.hpp"

namespace warpsmith::policy {

/// What one pass over a pack does.
struct PassOptions {
  Reach reach = Reach::everything;
  WeightsMark mark;      // of the weights in use, for values that are made at use
  double divisor = 1.0;  // of advantages that are made at use
  bool sample = true;    // collect statistics
};

/// Sums over what was added since `reset`. Losses are not yet divided by anything.
struct LossSums {
  double policy = 0;
  double value = 0;
  int64_t tokens = 0;  // action tokens, those too old included
  int64_t trajectories = 0;
};

class Accumulator {
 public:
  /// `reference` is needed when the KL term is on; its tensors are shared.
  Accumulator(const LearnerConfig& config, std::optional<Transformer> reference);

  /// Forward and backward of whole trajectories in one pack. Items without values get them from
  /// this forward, and their advantages with them. Gradients add up in the networks' leaves.
  void add(const ActorCritic& networks, std::span<TrainingItem* const> pack,
           const PassOptions& pass);

  /// What gradients must be multiplied by: 1 / tokens, or 1 / trajectories. 0 when nothing came.
  double scale() const;
  const LossSums& sums() const { return sums_; }
  /// Begins the next update; statistics stay.
  void reset() { sums_ = {}; }
  /// The policy of the KL term; null without one.
  const Transformer* reference() const { return reference_ ? &*reference_ : nullptr; }
  Transformer* reference() { return reference_ ? &*reference_ : nullptr; }
  /// Samples since the last call.
  std::vector<TokenSample> take_samples();

 private:
  at::Tensor loss_of(const TokenEvaluation& now, std::span<TrainingItem* const> pack,
                     const PassOptions& pass);
  void add_reference(std::span<TrainingItem* const> pack, double temperature) const;

  LearnerConfig config_;
  PolicyLossConfig loss_;
  AdvantageConfig advantage_;
  std::optional<Transformer> reference_;
  LossSums sums_;
  std::vector<TokenSample> samples_;
};

}  // namespace warpsmith::policy
