// SPDX-License-Identifier: Apache-2.0
// Rows are read in order and added to one row of sums, which stays in the cache.
#include "warpsmith.h"

extern "C" void solve(const void* const* in, void* const* out, const int64_t* dims) {
  const int64_t rows = dims[0], columns = dims[1];
  float* __restrict y = (float*)out[0];
  for (int64_t c = 0; c < columns; ++c) y[c] = 0;
  for (int64_t r = 0; r < rows; ++r) {
    const float* __restrict x = (const float*)in[0] + r * columns;
#pragma omp simd
    for (int64_t c = 0; c < columns; ++c) y[c] += 1.0f / (1.0f + expf(-x[c]));
  }
  const float share = 1.0f / (float)rows;
  for (int64_t c = 0; c < columns; ++c) y[c] *= share;
}
