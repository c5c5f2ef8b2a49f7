// SPDX-License-Identifier: Apache-2.0
// One pass over each row, one vector of sums.
#include "warpsmith.h"

extern "C" void solve(const void* const* in, void* const* out, const int64_t* dims) {
  const int64_t rows = dims[0], columns = dims[1];
  float* __restrict y = (float*)out[0];
  for (int64_t r = 0; r < rows; ++r) {
    const float* __restrict x = (const float*)in[0] + r * columns;
    float sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t c = 0; c < columns; ++c) sum += x[c] * x[c];
    y[r] = sum;
  }
}
