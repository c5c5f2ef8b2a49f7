// SPDX-License-Identifier: Apache-2.0
// Samples a token from a row of logits.
#pragma once

#include <cstdint>
#include <span>

#include "policy/generate/engine/sampling.hpp"

namespace warpsmith::policy {

/// Samples by the cumulative distribution at `uniform` in [0, 1): equal draws on equal logits give
/// equal tokens. Among equally likely tokens, top-k and top-p keep the smaller ids.
SampledToken sample_token(std::span<const float> logits, const SamplingParams& params,
                          double uniform);

/// The token with the largest logit; the first of equal ones.
int32_t argmax_token(std::span<const float> logits);

}  // namespace warpsmith::policy
