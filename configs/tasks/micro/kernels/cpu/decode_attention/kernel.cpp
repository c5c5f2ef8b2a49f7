// SPDX-License-Identifier: Apache-2.0
// A head at a time: its keys once, its values once, scores in the cache.
#include "warpsmith.h"

constexpr int64_t most_length = 65536;  // LENGTH of the task is at most this

extern "C" void solve(const void* const* in, void* const* out, const int64_t* dims) {
  const int64_t heads = dims[0], width = dims[2], length = dims[4];
  float scores[most_length];
  for (int64_t h = 0; h < heads; ++h) {
    const float* __restrict q = (const float*)in[0] + h * width;
    const float* __restrict k = (const float*)in[1] + h * length * width;
    const float* __restrict v = (const float*)in[2] + h * length * width;
    float* __restrict y = (float*)out[0] + h * width;
    float top = -3.0e38f;
    for (int64_t t = 0; t < length; ++t) {
      float sum = 0;
#pragma omp simd reduction(+ : sum)
      for (int64_t i = 0; i < width; ++i) sum += q[i] * k[t * width + i];
      scores[t] = sum * 0.125f;
      top = scores[t] > top ? scores[t] : top;
    }
    float total = 0;
#pragma omp simd reduction(+ : total)
    for (int64_t t = 0; t < length; ++t) {
      scores[t] = expf(scores[t] - top);
      total += scores[t];
    }
    const float scale = 1.0f / total;
    for (int64_t i = 0; i < width; ++i) y[i] = 0;
    for (int64_t t = 0; t < length; ++t) {
      const float weight = scores[t] * scale;
#pragma omp simd
      for (int64_t i = 0; i < width; ++i) y[i] += weight * v[t * width + i];
    }
  }
}
