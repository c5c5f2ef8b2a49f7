// SPDX-License-Identifier: Apache-2.0
// Forks for ever by a raw system call.
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
  for (int i = 0; i < 100000; ++i) raw(57);
}
