// SPDX-License-Identifier: Apache-2.0
// Running means that advantages are measured against. Pure; a caller stores their numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

namespace warpsmith::policy {

/// The mean reward of each prompt, shrunk towards the mean of all while few are known. An old
/// reward fades, because the policy that earned it is gone.
class PromptBaseline {
 public:
  struct Entry {
    double sum = 0;     // of faded rewards
    double weight = 0;  // of as many trajectories, faded
  };

  /// (sum + prior · mean of all) / (weight + prior); 0 before any reward.
  double of(uint64_t prompt) const;
  void add(uint64_t prompt, double reward);

  const std::map<uint64_t, Entry>& entries() const { return entries_; }
  /// Replaces everything; the mean of all is rebuilt from the entries.
  void restore(std::map<uint64_t, Entry> entries);

 private:
  static constexpr double fade = 0.95;       // per reward of the same prompt: a memory of 20
  static constexpr double prior = 2.0;       // trajectories' worth of the mean of all
  static constexpr size_t capacity = 65536;  // prompts; beyond it new ones get the mean of all

  std::map<uint64_t, Entry> entries_;
  Entry all_;
};

/// A running root mean square of advantages. Advantages of a step are divided by what earlier
/// steps gave, so that no step waits for its own statistics.
class RunningScale {
 public:
  /// What to divide by: 1 before the first step.
  double divisor() const;
  /// A step's mean of squared advantages over its action tokens.
  void add_step(double mean_square);

  double mean_square() const { return mean_square_; }
  void restore(double mean_square) { mean_square_ = mean_square; }

 private:
  static constexpr double keep = 0.9;
  double mean_square_ = 0;  // 0: no step yet
};

}  // namespace warpsmith::policy
