// SPDX-License-Identifier: Apache-2.0
#include "policy/generate/cpu/kernels.hpp"

#include <algorithm>
#include <cmath>

#include "policy/generate/cpu/lanes.hpp"

namespace warpsmith::policy::kernels {

WARPSMITH_CLONES
void rms_norm(const Rows& x, std::span<const float> weight, double eps, const Rows& y) {
  for (int64_t i = 0; i < x.count; ++i) {
    const float* from = x.row(i);
    float* into = y.row(i);
    double squares = 0;
    for (int64_t j = 0; j < x.width; ++j) squares += static_cast<double>(from[j]) * from[j];
    const auto scale =
        static_cast<float>(1.0 / std::sqrt(squares / static_cast<double>(x.width) + eps));
    for (int64_t j = 0; j < x.width; ++j)
      into[j] = from[j] * scale * weight[static_cast<size_t>(j)];
  }
}

WARPSMITH_CLONES
void rotate(float* x, int64_t heads, std::span<const float> cos, std::span<const float> sin) {
  const auto half = static_cast<int64_t>(cos.size());
  for (int64_t h = 0; h < heads; ++h, x += 2 * half) {
    for (int64_t i = 0; i < half; ++i) {
      const auto at = static_cast<size_t>(i);
      const float low = x[i];
      const float high = x[i + half];
      x[i] = low * cos[at] - high * sin[at];
      x[i + half] = high * cos[at] + low * sin[at];
    }
  }
}

WARPSMITH_CLONES
void gate(const Rows& x, const Rows& y) {
  for (int64_t i = 0; i < x.count; ++i) {
    const float* a = x.row(i);
    const float* b = a + y.width;
    float* into = y.row(i);
    const int64_t whole = y.width / group * group;
    for (int64_t j = 0; j < whole; j += lanes) {
      Lanes gate_lanes;
      Lanes up;
      load(a + j, gate_lanes);
      load(b + j, up);
      Lanes e = -gate_lanes;
      e = e > 88.0F ? Lanes{} + 88.0F : e;
      exp_lanes(e);
      store(gate_lanes / (e + 1.0F) * up, into + j);
    }
    for (int64_t j = whole; j < y.width; ++j) into[j] = a[j] / (1.0F + std::exp(-a[j])) * b[j];
  }
}

WARPSMITH_CLONES
SoftmaxSums exponentials(std::span<float> values, float scale) {
  float maximum = -HUGE_VALF;
  for (float& value : values) {
    value *= scale;
    maximum = std::max(maximum, value);
  }
  const size_t whole = values.size() / group * group;
  exp_below(values.data(), static_cast<int64_t>(whole), maximum);
  for (size_t i = whole; i < values.size(); ++i) values[i] = std::exp(values[i] - maximum);
  double total = 0;
  for (const float value : values) total += value;
  return {maximum, total};
}

}  // namespace warpsmith::policy::kernels
