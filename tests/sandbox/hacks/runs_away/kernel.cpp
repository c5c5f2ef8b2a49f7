// SPDX-License-Identifier: Apache-2.0
// Writes on until it faults.
#include "warpsmith.h"
extern "C" void solve(const void* const* in, void* const* out, const int64_t* dims) {
  volatile float* y = (volatile float*)out[0];
  for (int64_t i = dims[0] - dims[0];; ++i) y[i] = 1;
}
