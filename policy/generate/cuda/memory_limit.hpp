// SPDX-License-Identifier: Apache-2.0
// The limit that decoding is measured against. Pure.
#pragma once

#include "policy/model/config.hpp"

namespace warpsmith::policy {

/// Tokens per second of `batch` sequences of `context` tokens if a step only reads the weights, in
/// bf16, and the sequences' keys and values, once each at `bandwidth` bytes per second.
double memory_limit(const ModelConfig& model, int64_t batch, double context, double bandwidth);

}  // namespace warpsmith::policy
