// SPDX-License-Identifier: Apache-2.0
// The number types of the engine on a GPU. Pure.
#pragma once

#include <cstdint>

namespace warpsmith::policy::cuda {

/// The type of weights, activations, keys and values. Sums and logits are float32 with both.
enum class Precision : uint8_t { bf16, fp32 };

constexpr int64_t element_bytes(Precision precision) {
  return precision == Precision::bf16 ? 2 : 4;
}

/// Sizes of scratch memory.
inline constexpr int64_t blas_workspace_bytes = int64_t{64} << 20;
inline constexpr int64_t attention_float_bytes = int64_t{160} << 20;
inline constexpr int64_t attention_int_bytes = int64_t{16} << 20;

}  // namespace warpsmith::policy::cuda
