// SPDX-License-Identifier: Apache-2.0
#include "policy/learn/advantage.hpp"

#include <algorithm>
#include <stdexcept>

namespace warpsmith::policy {

double lambda_of(const AdvantageConfig& config, int64_t action_tokens) {
  if (config.lambda_alpha <= 0) return config.lambda;
  const double length = static_cast<double>(std::max<int64_t>(action_tokens, 1));
  return std::clamp(1.0 - 1.0 / (config.lambda_alpha * length), 0.0, 1.0);
}

Advantages BackwardGae::chunk(const AdvantageChunk& piece) {
  const size_t n = piece.mask.size();
  if (piece.rewards.size() != n || piece.values.size() != n) {
    throw std::invalid_argument("advantage: mask, rewards and values differ in length");
  }
  Advantages out{std::vector<double>(n, 0.0), std::vector<double>(n, 0.0)};
  for (size_t t = n; t-- > 0;) {
    pending_reward_ += piece.rewards[t];
    if (piece.mask[t] == 0) continue;
    const double delta = pending_reward_ + gamma_ * next_value_ - piece.values[t];
    next_advantage_ = delta + gamma_ * lambda_ * next_advantage_;
    next_value_ = piece.values[t];
    pending_reward_ = 0;
    out.advantages[t] = next_advantage_;
    out.targets[t] = next_advantage_ + next_value_;
  }
  return out;
}

Advantages masked_gae(const AdvantageConfig& config, const AdvantageChunk& trajectory) {
  const auto actions =
      std::count_if(trajectory.mask.begin(), trajectory.mask.end(), [](uint8_t m) { return m; });
  return BackwardGae{config.gamma, lambda_of(config, actions)}.chunk(trajectory);
}

}  // namespace warpsmith::policy
