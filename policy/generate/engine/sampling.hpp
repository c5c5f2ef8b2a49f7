// SPDX-License-Identifier: Apache-2.0
// How tokens are sampled, and a sampled token. Pure.
#pragma once

#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "runtime/result.hpp"

namespace warpsmith::policy {

struct SamplingParams {
  double temperature = 1.0;          // 0: greedy
  double top_p = 1.0;                // keep the likeliest tokens whose probabilities reach this sum
  int32_t top_k = 0;                 // keep the k likeliest tokens; 0: all
  int32_t max_tokens = 256;          // of this request
  std::vector<int32_t> stop_tokens;  // each of them ends the request and is its last token
  uint64_t seed = 0;    // `seed`, `stream` and a token's position determine its random draw, so the
  uint64_t stream = 0;  // batch has no effect and another engine can continue a lost sequence

  Result<void> validate() const;
};

inline Result<void> SamplingParams::validate() const {
  const auto wrong = [](const std::string& what) {
    return fail(ErrorCode::invalid_argument, "sampling: " + what);
  };
  if (!(temperature >= 0) || !std::isfinite(temperature)) {
    return wrong(fmt::format("temperature: expected 0 or more, got {}", temperature));
  }
  if (!(top_p > 0 && top_p <= 1)) {
    return wrong(fmt::format("top_p: expected more than 0 and at most 1, got {}", top_p));
  }
  if (top_k < 0) return wrong(fmt::format("top_k: expected 0 or more, got {}", top_k));
  if (max_tokens >= 1) return {};
  return wrong(fmt::format("max_tokens: expected at least 1, got {}", max_tokens));
}

struct SampledToken {
  int32_t token = 0;
  /// Natural log of the token's probability under softmax(logits / temperature) over the whole
  /// vocabulary, before top-k and top-p, as the learner recomputes it (`token_log_probs`). Greedy
  /// sampling records temperature 1.
  float log_prob = 0;
  /// The same under the distribution that it was sampled from: after temperature, top-k and top-p.
  /// 0 for greedy sampling.
  float sampled_log_prob = 0;
};

}  // namespace warpsmith::policy
