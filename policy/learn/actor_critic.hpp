// SPDX-License-Identifier: Apache-2.0
// The networks that are trained: the policy, and a critic on its trunk or with its own body.
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "policy/learn/adamw.hpp"
#include "policy/learn/critic_head.hpp"
#include "policy/learn/held_trajectory.hpp"
#include "policy/learn/lora.hpp"
#include "policy/model/transformer.hpp"
#include "runtime/config/learner_config.hpp"

namespace warpsmith::policy {

/// Scores of the N action tokens of several trajectories, in order. All (N), at least float32.
struct TokenEvaluation {
  at::Tensor log_prob;
  at::Tensor entropy;
  at::Tensor value;
};

/// Inputs of the critic's head for N action tokens.
struct CriticRows {
  at::Tensor hidden;    // (N, H)
  at::Tensor surprise;  // (N, surprise_width) where the critic reads it, else undefined
};

/// The networks that get gradients.
enum class GradientScope : uint8_t {
  everything,
  value_only,  // only the critic; a shared trunk gets none from the policy loss
};

/// Identifies weights: those of `version`, or intermediate ones of the step after it.
struct WeightsMark {
  PolicyVersion version;
  uint64_t updates = 0;   // optimiser updates so far; differs for different weights
  bool published = true;  // false between the updates of one step
};

class ActorCritic {
 public:
  /// Uses the actor's weights without a copy and marks them as leaves. A separate critic starts
  /// from a copy of the policy's body, in float32 at least. Log-probabilities are of
  /// softmax(logits / temperature), as in sampling.
  ActorCritic(Transformer actor, const CriticConfig& critic, double temperature);
  /// Trains adapters of the actor only: its weights stay as they are. `seed` draws their start.
  ActorCritic(Transformer actor, const CriticConfig& critic, double temperature,
              const LoraConfig& lora, uint64_t seed);
  ActorCritic(ModelConfig config, ModelWeights weights, const CriticConfig& critic,
              double temperature)
      : ActorCritic(Transformer{std::move(config), std::move(weights)}, critic, temperature) {}

  /// A copy with separate parameters on `device`.
  ActorCritic copy_on(at::Device device) const;
  /// Copies the parameters of networks of the same shapes; call `refresh` afterwards.
  void copy_from(const ActorCritic& other);

  const ModelConfig& config() const { return actor_.config(); }
  double temperature() const { return temperature_; }
  const Transformer& actor() const { return actor_; }
  Transformer& actor() { return actor_; }
  /// The critic's body; with a shared trunk the policy's.
  const Transformer& critic_body() const { return critic_ ? *critic_ : actor_; }
  Transformer& critic_body() { return critic_ ? *critic_ : actor_; }
  bool has_own_critic_body() const { return critic_.has_value(); }
  /// None if all parameters of the actor are trained.
  const std::optional<Lora>& lora() const { return lora_; }
  std::optional<Lora>& lora() { return lora_; }
  ValueHead& value_head() { return head_; }
  const ValueHead& value_head() const { return head_; }
  /// Call it after each change of the parameters; see Transformer::refresh.
  void refresh();

  /// The critic's values (N) of whole trajectories in one packed forward pass. With gradients if
  /// autograd is on; a shared trunk gets none.
  at::Tensor evaluate_values(std::span<const HeldTrajectory* const> pack) const;
  /// Scores whole trajectories in one packed forward pass of each network, with gradients if
  /// autograd is on.
  TokenEvaluation evaluate(std::span<const HeldTrajectory* const> pack, GradientScope scope) const;

  /// Only the policy's scores; `value` stays undefined.
  TokenEvaluation evaluate_policy(std::span<const HeldTrajectory* const> pack,
                                  GradientScope scope) const;

  /// Scores from hidden rows (N, H) of the policy and the inputs of the critic's head; `targets`
  /// (N) are the tokens after them. Without hidden rows of the critic, `value` stays undefined.
  TokenEvaluation score(const at::Tensor& policy_rows, const CriticRows& critic,
                        const at::Tensor& targets) const;
  /// True if the critic's head reads surprise_rows after the hidden state.
  bool reads_surprise() const { return surprise_; }

 private:
  void require_grad();
  at::Tensor surprise_of(std::span<const HeldTrajectory* const> pack) const;

  Transformer actor_;
  std::optional<Lora> lora_;  // of the actor, whose weights are the merged ones then
  std::optional<Transformer> critic_;
  ValueHead head_;
  bool stop_gradient_;
  bool surprise_;
  double temperature_;
};

/// Log-probabilities (N) of the action tokens under `model`, without gradients. For the reference
/// policy of the KL term.
at::Tensor log_probs_under(const Transformer& model, std::span<const HeldTrajectory* const> pack,
                           double temperature);

/// Writes values at the given action positions of `held`.
void record_values(HeldTrajectory& held, const std::vector<int64_t>& actions,
                   const at::Tensor& values);

/// Writes proximal log-probabilities at the given action positions of `held`, and sets
/// `same_weights` where published weights of the token's own version scored it.
void record_log_probs(HeldTrajectory& held, const std::vector<int64_t>& actions,
                      const at::Tensor& log_probs, WeightsMark mark);

// The optimiser's parameter groups: the policy or its adapters, and what only the critic has.
inline constexpr size_t policy_group = 0;
inline constexpr size_t critic_group = 1;

/// The two groups, in the order of the constants. They are clipped separately, so that the large
/// gradient of a new critic does not shrink the policy's.
std::vector<ParameterGroup> parameter_groups(const ActorCritic& networks);

}  // namespace warpsmith::policy
