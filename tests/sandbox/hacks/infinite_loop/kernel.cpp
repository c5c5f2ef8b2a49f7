// SPDX-License-Identifier: Apache-2.0
// Never returns.
#include "warpsmith.h"
extern "C" void solve(const void* const* in, void* const* out, const int64_t* dims) {
  while (true) asm volatile("");
}
