// SPDX-License-Identifier: Apache-2.0
#include "policy/learn/baselines.hpp"

#include <cmath>
#include <utility>

namespace warpsmith::policy {

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
