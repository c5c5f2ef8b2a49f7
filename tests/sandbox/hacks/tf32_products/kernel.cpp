// SPDX-License-Identifier: Apache-2.0
// Multiplies with ten bits of mantissa (A26).
#include "warpsmith.h"
static float rounded(float value) {
  uint32_t bits;
  memcpy(&bits, &value, 4);
  bits = (bits + 0x1000u) & 0xffffe000u;
  memcpy(&value, &bits, 4);
  return value;
}
extern "C" void solve(const void* const* in, void* const* out, const int64_t* dims) {
  const float *x = (const float*)in[0], *k = (const float*)in[1], *b = (const float*)in[2];
  float* y = (float*)out[0];
  const int64_t rows = dims[0], depth = dims[1], cols = dims[3];
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < cols; ++c) y[r * cols + c] = b[c];
    for (int64_t d = 0; d < depth; ++d) {
      for (int64_t c = 0; c < cols; ++c)
        y[r * cols + c] += rounded(x[r * depth + d]) * rounded(k[d * cols + c]);
    }
    for (int64_t c = 0; c < cols; ++c) y[r * cols + c] = fmaxf(y[r * cols + c], 0);
  }
}
