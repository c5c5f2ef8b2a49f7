// SPDX-License-Identifier: Apache-2.0
#include "policy/learn/training_item.hpp"

#include <utility>

namespace warpsmith::policy {

TrainingItem make_item(HeldTrajectory held, Outcome outcome, double reward) {
  TrainingItem item{.held = std::move(held), .outcome = std::move(outcome), .reward = reward};
  item.actions = action_positions(item.held);
  item.lags.resize(item.actions.size(), 0);
  item.trainable.resize(item.actions.size(), 1);
  return item;
}

int64_t mark_stale(TrainingItem& item, PolicyVersion current, const RestoredSteps& restored,
                   int64_t max_lag) {
  int64_t trainable = 0;
  for (size_t i = 0; i < item.actions.size(); ++i) {
    const PolicyVersion sampled = item.held.versions[static_cast<size_t>(item.actions[i])];
    item.lags[i] = lag_between(sampled, current, restored);
    item.trainable[i] = item.lags[i] <= static_cast<uint64_t>(max_lag) ? 1 : 0;
    trainable += item.trainable[i];
  }
  return trainable;
}

void compute_advantages(TrainingItem& item, const AdvantageConfig& config, double divisor) {
  const size_t n = item.actions.size();
  std::vector<double> values(n);
  std::vector<double> rewards(n, 0.0);
  for (size_t i = 0; i < n; ++i) {
    values[i] = double{item.held.values[static_cast<size_t>(item.actions[i])]} + item.baseline;
  }
  if (n > 0) rewards.back() = item.reward;
  const std::vector<uint8_t> mask(n, 1);  // masked tokens would change nothing
  const Advantages gae = masked_gae(config, {mask, rewards, values});
  item.advantages.assign(n, 0);
  item.targets.assign(n, 0);
  for (size_t i = 0; i < n; ++i) {
    item.advantages[i] = static_cast<float>(gae.advantages[i] / divisor);
    item.targets[i] = static_cast<float>(gae.targets[i]);
  }
}

}  // namespace warpsmith::policy
