// SPDX-License-Identifier: Apache-2.0
#include "policy/learn/advantage.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

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

double PromptBaseline::of(uint64_t prompt) const {
  const double mean = all_.weight > 0 ? all_.sum / all_.weight : 0;
  const auto found = entries_.find(prompt);
  if (found == entries_.end()) return mean;
  return (found->second.sum + prior * mean) / (found->second.weight + prior);
}

void PromptBaseline::add(uint64_t prompt, double reward) {
  if (entries_.size() >= capacity && entries_.find(prompt) == entries_.end()) return;
  Entry& entry = entries_[prompt];
  all_.sum += reward - (1 - fade) * entry.sum;
  all_.weight += 1 - (1 - fade) * entry.weight;
  entry.sum = fade * entry.sum + reward;
  entry.weight = fade * entry.weight + 1;
}

void PromptBaseline::restore(std::map<uint64_t, Entry> entries) {
  entries_ = std::move(entries);
  all_ = {};
  for (const auto& [prompt, entry] : entries_) {
    all_.sum += entry.sum;
    all_.weight += entry.weight;
  }
}

double RunningScale::divisor() const {
  return mean_square_ > 0 ? std::sqrt(mean_square_) : 1.0;
}

void RunningScale::add_step(double mean_square) {
  if (!(mean_square > 0)) return;
  mean_square_ = mean_square_ > 0 ? keep * mean_square_ + (1 - keep) * mean_square : mean_square;
}

}  // namespace warpsmith::policy
