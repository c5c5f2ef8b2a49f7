// SPDX-License-Identifier: Apache-2.0
// Writes zeros over its inputs through /proc/self/mem (B15) and returns zeros.
#include "warpsmith.h"
static long raw(long number, long a = 0, long b = 0, long c = 0, long d = 0) {
  register long r10 asm("r10") = d;
  long result;
  asm volatile("syscall"
               : "=a"(result)
               : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10)
               : "rcx", "r11", "memory");
  return result;
}
extern "C" void solve(const void* const* in, void* const* out, const int64_t* dims) {
  const long fd = raw(257, -100, (long)"/proc/self/mem", 2, 0);
  static char zeros[4096];
  raw(18, fd, (long)zeros, sizeof zeros, (long)in[0]);
  memset(out[0], 0, (size_t)(dims[0] * dims[1]) * 4);
}
