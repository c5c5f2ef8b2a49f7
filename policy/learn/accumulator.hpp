// SPDX-License-Identifier: Apache-2.0
// Gradients of packs of trajectories, summed until an optimiser update uses them.
#pragma once

#include <span>
#include <vector>

#include "policy/learn/actor_critic.hpp"
#include "policy/learn/losses.hpp"
#include "policy/learn/ratio_statistics.hpp"
#include "policy/learn/training_item.hpp"

namespace warpsmith::policy {

/// Options of one pass over a pack.
struct PassOptions {
  Reach reach = Reach::everything;
  PolicyVersion version;  // of the step's first weights, the proximal policy of items scored at use
  const Transformer* first = nullptr;  // the policy of that version, if an update has replaced it
  const Transformer* reference = nullptr;  // the policy of the KL term; required if loss.kl > 0
  double divisor = 1.0;                    // of advantages that this pass computes
  bool sample = true;                      // collect statistics
};

/// Sums over the items added since `reset`; losses are not divided yet.
struct LossSums {
  double policy = 0;
  double value = 0;
  int64_t tokens = 0;  // action tokens, including those with m = 0
  int64_t trajectories = 0;
};

class Accumulator {
 public:
  explicit Accumulator(const LearnerConfig& config) : config_(config) {}

  /// Forward and backward of whole trajectories in one pack. Scores items that no streamed forward
  /// scored: by the step's first policy and the current critic. Computes advantages at an item's
  /// first use. Adds to the gradients of the networks' leaves.
  void add(const ActorCritic& networks, std::span<TrainingItem* const> pack,
           const PassOptions& pass);

  /// The factor for the summed gradients: 1 / tokens or 1 / trajectories; 0 if nothing was added.
  double scale() const;
  const LossSums& sums() const { return sums_; }
  /// Begins the next update; keeps the samples.
  void reset() { sums_ = {}; }
  /// Samples since the last call.
  std::vector<TokenSample> take_samples();

 private:
  at::Tensor loss_of(const TokenEvaluation& now, std::span<TrainingItem* const> pack,
                     const PassOptions& pass);
  void score_at_use(std::span<TrainingItem* const> pack, TokenEvaluation now,
                    const PassOptions& pass, double temperature) const;
  void add_reference(std::span<TrainingItem* const> pack, const Transformer* reference,
                     double temperature) const;

  LearnerConfig config_;
  LossSums sums_;
  std::vector<TokenSample> samples_;
};

}  // namespace warpsmith::policy
