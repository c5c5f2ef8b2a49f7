// SPDX-License-Identifier: Apache-2.0
// Sleeps for ever.
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
  long span[2] = {1000000, 0};
  raw(35, (long)span, 0);
}
