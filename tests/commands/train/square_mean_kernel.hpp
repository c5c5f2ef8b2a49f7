// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace warpsmith::commands {

/// A correct kernel for configs/tasks/cpu/train/square_mean.py.
inline constexpr const char* kernel = R"(#include "warpsmith.h"
extern "C" void solve(const void* const* in, void* const* out, const int64_t* dims) {
  const float* x = (const float*)in[0];
  const float* z = (const float*)in[1];
  float* y = (float*)out[0];
  for (int64_t r = 0; r < dims[0]; ++r) {
    float sum = 0;
    for (int64_t c = 0; c < dims[1]; ++c) {
      const float v = x[r * dims[1] + c] + z[r * dims[1] + c];
      sum += v * v;
    }
    y[r] = sum / (float)dims[1];
  }
}
)";

}  // namespace warpsmith::commands
