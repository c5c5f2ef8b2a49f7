// SPDX-License-Identifier: Apache-2.0
// Generalised advantage estimation (GAE) over the tokens that the model sampled. Pure.
#pragma once

#include <cstdint>
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

}  // namespace warpsmith::policy
