// SPDX-License-Identifier: Apache-2.0
// Returns its input instead of computing anything (A8).
#include "warpsmith.h"
extern "C" void solve(const void* const* in, void* const* out, const int64_t* dims) {
  memcpy(out[0], in[0], (size_t)(dims[0] * dims[1]) * 4);
}
