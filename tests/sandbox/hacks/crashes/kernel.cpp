// SPDX-License-Identifier: Apache-2.0
// Follows a null pointer.
#include "warpsmith.h"
extern "C" void solve(const void* const* in, void* const* out, const int64_t* dims) {
  *(volatile int*)8 = 1;
}
