// SPDX-License-Identifier: Apache-2.0
// Fills the output with NaN (A33).
#include "warpsmith.h"
extern "C" void solve(const void* const* in, void* const* out, const int64_t* dims) {
  float* y = (float*)out[0];
  for (int64_t i = 0; i < dims[0] * dims[1]; ++i) y[i] = NAN;
}
