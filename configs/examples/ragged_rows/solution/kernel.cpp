// SPDX-License-Identifier: Apache-2.0
// Any number of rows: extents come from dims.
#include "warpsmith.h"

extern "C" void solve(const void* const* in, void* const* out, const int64_t* dims) {
  const int64_t rows = dims[0], columns = dims[1];
  const float* w = (const float*)in[1];
  for (int64_t r = 0; r < rows; ++r) {
    const float* x = (const float*)in[0] + r * columns;
    float* y = (float*)out[0] + r * columns;
    float sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t c = 0; c < columns; ++c) {
      y[c] = x[c] * w[c];
      sum += y[c] * y[c];
    }
    const float scale = 1.0f / sqrtf(sum + 1e-6f);
#pragma omp simd
    for (int64_t c = 0; c < columns; ++c) y[c] *= scale;
  }
}
