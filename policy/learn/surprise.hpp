// SPDX-License-Identifier: Apache-2.0
// How unlikely the tokens before an action were, as input of the critic's head. A token that the
// policy rarely samples is often a mistake, and hidden states do not show that it was one.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <span>
#include <vector>

#include "policy/learn/held_trajectory.hpp"
#include "policy/model/config.hpp"
#include "runtime/config/learner_config.hpp"

namespace warpsmith::policy {

/// Numbers for each action token; the head takes them after the hidden state.
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
