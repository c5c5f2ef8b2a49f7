// SPDX-License-Identifier: Apache-2.0
// Leaves a term out (A20).
#include "warpsmith.h"
extern "C" void solve(const void* const* in, void* const* out, const int64_t* dims) {
  const float *x = (const float*)in[0], *k = (const float*)in[1];
  float* y = (float*)out[0];
  const int64_t rows = dims[0], depth = dims[1], cols = dims[3];
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < cols; ++c) y[r * cols + c] = 0;
    for (int64_t d = 0; d < depth; ++d) {
      for (int64_t c = 0; c < cols; ++c) y[r * cols + c] += x[r * depth + d] * k[d * cols + c];
    }
    for (int64_t c = 0; c < cols; ++c) y[r * cols + c] = fmaxf(y[r * cols + c], 0);
  }
}
