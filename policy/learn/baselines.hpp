// SPDX-License-Identifier: Apache-2.0
// Running statistics that rewards and advantages are compared with. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

namespace warpsmith::policy {

/// The mean reward of each prompt, shrunk towards the overall mean while the prompt has few
/// rewards. Older rewards weigh less, because an older policy earned them.
class PromptBaseline {
 public:
  struct Entry {
    double sum = 0;     // of rewards times their weights
    double weight = 0;  // sum of the weights
  };

  /// (sum + prior · overall mean) / (weight + prior); 0 before the first reward.
  double of(uint64_t prompt) const;
  void add(uint64_t prompt, double reward);

  const std::map<uint64_t, Entry>& entries() const { return entries_; }
  /// Replaces all entries; the overall mean is recomputed from them.
  void restore(std::map<uint64_t, Entry> entries);

 private:
  static constexpr double fade = 0.95;  // per reward of the same prompt: about the last 20 count
  static constexpr double prior = 2.0;  // weight of the overall mean, in trajectories
  static constexpr size_t capacity = 65536;  // prompts; further ones get the overall mean

  std::map<uint64_t, Entry> entries_;
  Entry all_;
};

/// A running root mean square of advantages. A step's advantages are divided by that of earlier
/// steps, so that training can begin before the step is complete.
class RunningScale {
 public:
  /// The root mean square; 1 before the first step.
  double divisor() const;
  /// Adds a step's mean squared advantage over its action tokens.
  void add_step(double mean_square);

  double mean_square() const { return mean_square_; }
  void restore(double mean_square) { mean_square_ = mean_square; }

 private:
  static constexpr double keep = 0.9;
  double mean_square_ = 0;  // 0: no step yet
};

}  // namespace warpsmith::policy
