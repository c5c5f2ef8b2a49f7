// SPDX-License-Identifier: Apache-2.0
// Types and sizes that the host and device code of the engine on a GPU share. Pure.
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

/// The settings by which the device samples one token.
struct SampleOrder {
  double uniform = 0;             // in [0, 1)
  float inverse_temperature = 1;  // 1 for greedy sampling
  float top_p = 1;
  int32_t top_k = 0;  // 0: all
  int32_t greedy = 0;
};

/// One sampled token; see SampledToken.
struct DeviceSample {
  int32_t token = 0;
  float log_prob = 0;
  float sampled_log_prob = 0;
};

}  // namespace warpsmith::policy::cuda
