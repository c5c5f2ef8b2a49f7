// SPDX-License-Identifier: Apache-2.0
// Prints 100 MB, which is never read, with an honest answer.
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
static void softmax(const float* x, float* y, int64_t rows, int64_t cols) {
  for (int64_t r = 0; r < rows; ++r, x += cols, y += cols) {
    float top = x[0] * 0.125f;
    for (int64_t c = 1; c < cols; ++c) top = fmaxf(top, x[c] * 0.125f);
    float sum = 0;
    for (int64_t c = 0; c < cols; ++c) sum += y[c] = expf(x[c] * 0.125f - top);
    for (int64_t c = 0; c < cols; ++c) y[c] /= sum;
  }
}
extern "C" void solve(const void* const* in, void* const* out, const int64_t* dims) {
  static char text[1 << 20];
  static int calls = 0;
  if (++calls == 1) {
    for (int i = 0; i < 100; ++i) raw(1, 1, (long)text, sizeof text);
  }
  softmax((const float*)in[0], (float*)out[0], dims[0], dims[1]);
}
