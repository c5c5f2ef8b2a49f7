// SPDX-License-Identifier: Apache-2.0
// Several token sequences as one packed forward, and the rows that score their action tokens.
#pragma once

#include <ATen/core/Tensor.h>

#include <span>
#include <vector>

#include "policy/model/transformer.hpp"

namespace warpsmith::policy {

/// One sequence: (T) tokens, and 1 where a token is to be scored. Token 0 is never scored.
struct MaskedTokens {
  std::span<const int32_t> tokens;
  std::span<const uint8_t> mask;
};

/// The hidden state at position t − 1 scores token t, so the packed sequence ends one token before
/// the last scored one.
struct ActionPack {
  PackedBatch batch;
  at::Tensor rows;     // (N) int64, indices of packed rows
  at::Tensor targets;  // (N) int64, the scored tokens
};

/// Throws std::invalid_argument for a sequence without a scored token beyond its first.
ActionPack plan_actions(std::span<const MaskedTokens> sequences);

/// A vector as an (n) int64 tensor.
at::Tensor index_tensor(const std::vector<int64_t>& values);

}  // namespace warpsmith::policy
