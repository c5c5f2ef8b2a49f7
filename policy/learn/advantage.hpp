// SPDX-License-Identifier: Apache-2.0
// Generalised advantage estimation over the tokens that the model sampled, and over those only.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace warpsmith::policy {

struct AdvantageConfig {
  double gamma = 1.0;            // discount per action token
  double lambda = 1.0;           // GAE λ; not used when length_adaptive
  bool length_adaptive = false;  // λ = 1 − 1/(α·l), l action tokens (VAPO, arXiv 2504.05118)
  double alpha = 1.5;            // of the length-adaptive λ
};

/// The λ of a trajectory with that many action tokens, within [0, 1].
double lambda_of(const AdvantageConfig& config, int64_t action_tokens);

/// One piece of a trajectory, T tokens, all arrays of that length.
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
/// are skipped: neither discounted nor read. A reward on a masked token belongs to the action token
/// before it (the one that caused it); before the first action there is none, and it is lost.
///
/// The trajectory may come in pieces, last piece first; the result does not depend on the cuts.
class BackwardGae {
 public:
  /// The trajectory ends after its last token: there is no value beyond.
  BackwardGae(double gamma, double lambda) : gamma_(gamma), lambda_(lambda) {}

  /// Throws std::invalid_argument when the arrays differ in length.
  Advantages chunk(const AdvantageChunk& piece);

 private:
  double gamma_;
  double lambda_;
  double next_value_ = 0;
  double next_advantage_ = 0;
  double pending_reward_ = 0;  // of masked tokens, waits for the action token before them
};

/// The whole trajectory at once, with the λ of its length.
Advantages masked_gae(const AdvantageConfig& config, const AdvantageChunk& trajectory);

}  // namespace warpsmith::policy
