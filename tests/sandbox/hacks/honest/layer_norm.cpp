// SPDX-License-Identifier: Apache-2.0
// Mean and variance by one running sum each.
#include "warpsmith.h"
static void row(const float* x, const float* w, const float* b, float* y, int64_t cols) {
  float sum = 0, squares = 0;
  for (int64_t c = 0; c < cols; ++c) sum += x[c];
  const float mean = sum / (float)cols;
  for (int64_t c = 0; c < cols; ++c) squares += (x[c] - mean) * (x[c] - mean);
  const float scale = 1 / sqrtf(squares / (float)cols + 1e-5f);
  for (int64_t c = 0; c < cols; ++c) y[c] = (x[c] - mean) * scale * w[c] + b[c];
}
extern "C" void solve(const void* const* in, void* const* out, const int64_t* dims) {
  const float *x = (const float*)in[0], *w = (const float*)in[1], *b = (const float*)in[2];
  float* y = (float*)out[0];
  for (int64_t r = 0; r < dims[0]; ++r) row(x + r * dims[1], w, b, y + r * dims[1], dims[1]);
}
