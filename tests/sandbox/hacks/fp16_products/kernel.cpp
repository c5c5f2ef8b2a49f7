// SPDX-License-Identifier: Apache-2.0
// Multiplies in half precision (A26).
#include "warpsmith.h"
extern "C" void solve(const void* const* in, void* const* out, const int64_t* dims) {
  const float *x = (const float*)in[0], *k = (const float*)in[1], *b = (const float*)in[2];
  float* y = (float*)out[0];
  const int64_t rows = dims[0], depth = dims[1], cols = dims[3];
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < cols; ++c) y[r * cols + c] = b[c];
    for (int64_t d = 0; d < depth; ++d) {
      for (int64_t c = 0; c < cols; ++c)
        y[r * cols + c] += (float)(_Float16)x[r * depth + d] * (float)(_Float16)k[d * cols + c];
    }
    for (int64_t c = 0; c < cols; ++c) y[r * cols + c] = fmaxf(y[r * cols + c], 0);
  }
}
