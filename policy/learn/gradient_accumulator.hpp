// SPDX-License-Identifier: Apache-2.0
// Gradients of packs of trajectories, summed until an optimiser update uses them.
#pragma once

#include <span>
#include <vector>

#include "policy/learn/actor_critic.hpp"
#include "policy/learn/held_trajectory.hpp"
#include "policy/learn/losses.hpp"
#include "policy/learn/step_report.hpp"

namespace warpsmith::policy {

/// Options of one pass over a pack.
struct PassOptions {
  GradientScope scope = GradientScope::everything;
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

  LossSums& operator+=(const LossSums& other);
};

/// The factor for the summed gradients: 1 / tokens or 1 / trajectories; 0 if nothing was added.
double scale_of(const LossSums& sums, Aggregation aggregation);

class GradientAccumulator {
 public:
  explicit GradientAccumulator(const LearnerConfig& config) : config_(config) {}

  /// Forward and backward of whole trajectories in one pack, of a separate critic before the
  /// policy. Scores items that no streamed forward scored: by the step's first policy and the
  /// current critic. Computes advantages at an item's first use. Adds to the gradients of the
  /// networks' leaves.
  void add(const ActorCritic& networks, std::span<TrainingItem* const> pack,
           const PassOptions& pass);

  const LossSums& sums() const { return sums_; }
  /// Begins the next update; keeps the samples.
  void reset() { sums_ = {}; }
  /// Samples since the last call.
  std::vector<TokenSample> take_samples();

 private:
  using Pack = std::span<TrainingItem* const>;

  /// Advantages of items at their first use, and counts.
  void prepare(Pack pack, const at::Tensor& values, const PassOptions& pass);
  static void score_at_use(Pack pack, at::Tensor log_probs, const PassOptions& pass,
                           double temperature);
  void add_reference(Pack pack, const Transformer* reference, double temperature) const;
  /// The weight (N) of each token in the summed loss.
  at::Tensor weights_of(Pack pack, const at::Tensor& like) const;
  at::Tensor value_loss_of(const at::Tensor& now, Pack pack);
  at::Tensor policy_loss_of(const TokenEvaluation& now, Pack pack, const PassOptions& pass);

  LearnerConfig config_;
  LossSums sums_;
  std::vector<TokenSample> samples_;
};

}  // namespace warpsmith::policy
