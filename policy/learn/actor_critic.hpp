// SPDX-License-Identifier: Apache-2.0
// The networks that learn: the policy, and a critic on its trunk or with a body of its own.
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>
#include <span>
#include <vector>

#include "policy/learn/action_pack.hpp"
#include "policy/learn/held_trajectory.hpp"
#include "policy/model/transformer.hpp"
#include "policy/model/value_head.hpp"
#include "runtime/config/learner_config.hpp"

namespace warpsmith::policy {

/// N action tokens of several trajectories, in order. All (N), at least float32.
struct TokenEvaluation {
  at::Tensor log_prob;
  at::Tensor entropy;
  at::Tensor value;
};

/// How far gradients reach.
enum class Reach : uint8_t {
  everything,
  value_only,  // the critic alone: a shared trunk is left as it is
};

struct CriticOptions {
  CriticKind kind = CriticKind::shared;
  bool stop_gradient = false;  // the value loss does not move a shared trunk
  double temperature = 1.0;    // of the sampling: logits are divided by it on both sides
};

/// Which weights: those of `version` as published, or ones on the way to the next.
struct WeightsMark {
  PolicyVersion version;
  uint64_t updates = 0;   // optimiser updates so far, the identity of the weights
  bool published = true;  // false between the updates of one step
};

class ActorCritic {
 public:
  /// Takes the weights as they are (no copy) and marks them as leaves. A separate critic starts
  /// from a copy of the policy's body.
  ActorCritic(ModelConfig config, ModelWeights weights, CriticOptions options);

  const ModelConfig& config() const { return actor_.config(); }
  const CriticOptions& options() const { return options_; }
  const Transformer& actor() const { return actor_; }
  Transformer& actor() { return actor_; }
  /// The critic's body: the policy's own when shared.
  const Transformer& critic_body() const { return critic_ ? *critic_ : actor_; }
  Transformer& critic_body() { return critic_ ? *critic_ : actor_; }
  bool has_own_critic_body() const { return critic_.has_value(); }
  ValueHead& value_head() { return head_; }
  const ValueHead& value_head() const { return head_; }

  /// Whole trajectories in one packed forward, with gradients where autograd is on.
  TokenEvaluation evaluate(std::span<const HeldTrajectory* const> pack, Reach reach) const;

  /// Hidden rows (N, H) of the policy and of the critic, and the tokens that follow them (N).
  TokenEvaluation score(const at::Tensor& policy_rows, const at::Tensor& value_rows,
                        const at::Tensor& targets) const;

 private:
  Transformer actor_;
  std::optional<Transformer> critic_;
  ValueHead head_;
  CriticOptions options_;
};

/// Log-probabilities (N) of the action tokens under another policy, without gradients: the
/// reference of the KL term.
at::Tensor log_probs_under(const Transformer& model, std::span<const HeldTrajectory* const> pack,
                           double temperature);

/// Writes proximal log-probabilities and values at the given action positions of `held`, and sets
/// `same_weights` where published weights of the token's own version scored it.
void record_scores(HeldTrajectory& held, const std::vector<int64_t>& actions,
                   const TokenEvaluation& scores, WeightsMark mark);

}  // namespace warpsmith::policy
