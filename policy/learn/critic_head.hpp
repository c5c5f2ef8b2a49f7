// SPDX-License-Identifier: Apache-2.0
// The critic's head: a linear map of hidden states to values, the expected future reward. It can
// also read how unlikely the tokens before an action were: a token that the policy rarely samples
// is often a mistake, and hidden states do not show that it was one.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "policy/learn/held_trajectory.hpp"
#include "policy/model/config.hpp"
#include "policy/model/weights.hpp"
#include "runtime/config/learner_config.hpp"

namespace warpsmith::policy {

/// W inputs: a hidden state (H), and after it surprise_rows if the critic reads them.
struct ValueHead {
  at::Tensor weight;  // (1, W)
  at::Tensor bias;    // (1)

  /// hidden (T, H), more (T, W − H) → values (T), computed in the head's type, at least float32.
  /// `more` may be undefined if W = H.
  at::Tensor values(const at::Tensor& hidden, const at::Tensor& more) const;
  std::vector<std::pair<std::string, at::Tensor>> parameters() const;
};

/// All zero, so that a new critic predicts 0.
ValueHead make_value_head(int64_t width, const at::TensorOptions& options = at::kFloat);

/// Named as in a one-label token classifier of `transformers`: "score.weight", "score.bias".
WeightMap value_head_to_map(const ValueHead& head);
Result<ValueHead> value_head_from_map(int64_t width, const WeightMap& map);

/// Numbers of surprise_rows for each action token.
inline constexpr int64_t surprise_width = 5;

/// For each action token at position `from` or later: −log μ of the least likely sampled token
/// before it, in nats, at most 8; 0 for the first. They are known before the action, so a value
/// that depends on them leaves the policy gradient unbiased.
std::vector<float> surprises(const HeldTrajectory& held, int64_t from = 0);

/// (N, surprise_width) float32 on the host: max(0, s − k) for k = 0, 1, 2, 3, 4, so that a linear
/// head can weigh large surprises more.
at::Tensor surprise_rows(const std::vector<float>& surprises);

/// The same for the action tokens of several trajectories, in order.
at::Tensor surprise_rows(std::span<const HeldTrajectory* const> pack);

/// Inputs of the critic's head: the hidden state, and with `critic.surprise` those numbers.
int64_t head_width(const ModelConfig& model, const CriticConfig& critic);

}  // namespace warpsmith::policy
