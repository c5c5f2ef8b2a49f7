// SPDX-License-Identifier: Apache-2.0
// Reads the 8-bit weights once and writes no float32 copy of them.
#include "warpsmith.h"

extern "C" void solve(const void* const* in, void* const* out, const int64_t* dims) {
  const int64_t rows = dims[0], columns = dims[1];
  const float* __restrict scale = (const float*)in[1];
  const float* __restrict x = (const float*)in[2];
  float* __restrict y = (float*)out[0];
  for (int64_t r = 0; r < rows; ++r) {
    const int8_t* __restrict q = (const int8_t*)in[0] + r * columns;
    float sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t c = 0; c < columns; ++c) sum += (float)q[c] * x[c];
    y[r] = sum * scale[r];
  }
}
