// SPDX-License-Identifier: Apache-2.0
// Recurses for ever.
#include "warpsmith.h"
static int deeper(volatile int* p) {
  volatile int more[4096];
  more[0] = *p;
  return deeper(more) + more[1];
}
extern "C" void solve(const void* const* in, void* const* out, const int64_t* dims) {
  volatile int x = 0;
  ((volatile int*)out[0])[0] = deeper(&x);
}
