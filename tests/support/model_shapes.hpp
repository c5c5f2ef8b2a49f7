// SPDX-License-Identifier: Apache-2.0
// Shapes of published models, for plans that need no weights.
#pragma once

#include "policy/model/config.hpp"

namespace warpsmith::policy::test {

/// Qwen3-1.7B with `positions` as its longest sequence.
inline ModelConfig qwen3_1_7b(int64_t positions) {
  return {.family = Family::qwen3,
          .vocab = 151'936,
          .hidden = 2048,
          .layers = 28,
          .heads = 16,
          .kv_heads = 8,
          .head_dim = 128,
          .ffn = 6144,
          .max_positions = positions,
          .qk_norm = true,
          .tied_embeddings = true};
}

}  // namespace warpsmith::policy::test
