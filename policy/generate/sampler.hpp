// SPDX-License-Identifier: Apache-2.0
// One token from a row of logits, and the log-probability that the learner will recompute.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "runtime/result.hpp"

namespace warpsmith::policy {

struct SamplingParams {
  double temperature = 1.0;          // 0: greedy
  double top_p = 1.0;                // keep the likeliest tokens whose probabilities reach this sum
  int32_t top_k = 0;                 // keep the k likeliest; 0: all
  int32_t max_tokens = 256;          // of this request
  std::vector<int32_t> stop_tokens;  // any of them ends the request and is its last token
  uint64_t seed = 0;    // with `stream` and the token's position it fixes the draw, whatever else
  uint64_t stream = 0;  // is in the batch and wherever a lost sequence is continued

  Result<void> validate() const;
};

struct SampledToken {
  int32_t token = 0;
  /// Natural log of the token's probability under softmax(logits / temperature) over the whole
  /// vocabulary: before top-k and top-p, which the learner does not know. Greedy records
  /// temperature 1. `token_log_probs` computes the same from the learner's side.
  float log_prob = 0;
};

/// `uniform` in [0, 1) picks the token: equal draws on equal logits give equal tokens. Ties go to
/// the smaller token id.
SampledToken sample_token(std::span<const float> logits, const SamplingParams& params,
                          double uniform);

/// Token of the largest logit; the first of equal ones.
int32_t argmax_token(std::span<const float> logits);

}  // namespace warpsmith::policy
