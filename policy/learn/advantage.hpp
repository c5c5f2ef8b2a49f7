// SPDX-License-Identifier: Apache-2.0
// Advantages of the tokens that the model sampled: generalised advantage estimation (GAE), and the
// running statistics that rewards and advantages are compared with. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "runtime/config/learner_config.hpp"

namespace warpsmith::policy {

/// λ for a trajectory of that many action tokens: `lambda`, or with lambda_alpha > 0 the
/// length-adaptive 1 − 1/(α l) of VAPO (arXiv 2504.05118), clamped to [0, 1].
double lambda_of(const AdvantageConfig& config, int64_t action_tokens);

/// A part of a trajectory, T tokens; all arrays have that length.
struct AdvantageChunk {
  std::span<const uint8_t> mask;    // 1 where the model sampled the token
  std::span<const double> rewards;  // earned after the token
  std::span<const double> values;   // V of the state in which the token was chosen; masked: unread
};

/// Advantages and value targets, (T) each, 0 where masked.
struct Advantages {
  std::vector<double> advantages;
  std::vector<double> targets;  // advantage + value: the λ-return
};

/// GAE (Schulman et al., arXiv 1506.02438, eq. 16) from the last token to the first. Masked tokens
/// are skipped: neither discounted nor read. A reward on a masked token counts for the action token
/// before it; a reward before the first action token is lost.
///
/// A trajectory may be processed in chunks, the last one first; where it is cut has no effect.
class BackwardGae {
 public:
  /// The value after the trajectory's last token is 0.
  BackwardGae(double gamma, double lambda) : gamma_(gamma), lambda_(lambda) {}

  /// Throws std::invalid_argument when the arrays differ in length.
  Advantages chunk(const AdvantageChunk& piece);

 private:
  double gamma_;
  double lambda_;
  double next_value_ = 0;
  double next_advantage_ = 0;
  double pending_reward_ = 0;  // of masked tokens, for the action token before them
};

/// GAE of a whole trajectory, with λ by its number of action tokens.
Advantages masked_gae(const AdvantageConfig& config, const AdvantageChunk& trajectory);

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
