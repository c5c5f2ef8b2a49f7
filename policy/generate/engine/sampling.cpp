// SPDX-License-Identifier: Apache-2.0
#include "policy/generate/engine/sampling.hpp"

#include <cmath>
#include <string>

namespace warpsmith::policy {

Result<void> SamplingParams::validate() const {
  const auto wrong = [](const std::string& what) {
    return fail(ErrorCode::invalid_argument, "sampling: " + what);
  };
  if (!(temperature >= 0) || !std::isfinite(temperature)) {
    return wrong("temperature: expected 0 or more, got " + std::to_string(temperature));
  }
  if (!(top_p > 0 && top_p <= 1)) {
    return wrong("top_p: expected more than 0 and at most 1, got " + std::to_string(top_p));
  }
  if (top_k < 0) return wrong("top_k: expected 0 or more, got " + std::to_string(top_k));
  if (max_tokens >= 1) return {};
  return wrong("max_tokens: expected at least 1, got " + std::to_string(max_tokens));
}

}  // namespace warpsmith::policy
