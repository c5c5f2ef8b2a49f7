// SPDX-License-Identifier: Apache-2.0
// Tiles that stay in the first-level cache, so that reads and writes use whole cache lines.
#include "warpsmith.h"

constexpr int64_t tile = 16;

extern "C" void solve(const void* const* in, void* const* out, const int64_t* dims) {
  const float* __restrict x = (const float*)in[0];
  float* __restrict y = (float*)out[0];
  const int64_t rows = dims[0], columns = dims[1];
  for (int64_t c0 = 0; c0 < columns; c0 += tile) {
    const int64_t c1 = c0 + tile < columns ? c0 + tile : columns;
    for (int64_t r0 = 0; r0 < rows; r0 += tile) {
      const int64_t r1 = r0 + tile < rows ? r0 + tile : rows;
      for (int64_t c = c0; c < c1; ++c) {
        for (int64_t r = r0; r < r1; ++r) y[c * rows + r] = x[r * columns + c];
      }
    }
  }
}
