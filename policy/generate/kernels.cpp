// SPDX-License-Identifier: Apache-2.0
#include "policy/generate/kernels.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

namespace warpsmith::policy::kernels {
namespace {

// Sixteen lanes; the compiler splits them where registers are narrower. Helpers are inlined into
// the clones below, so each instruction set gets its own.
using Lanes [[gnu::vector_size(64)]] = float;
using IntLanes [[gnu::vector_size(64)]] = int32_t;
constexpr int64_t lanes = 16;
// A register of AVX2, where GCC keeps wider vectors in memory: `multiply` takes 4 to 28 times as
// long.
using HalfLanes [[gnu::vector_size(32)]] = float;

#define WARPSMITH_CLONES [[gnu::target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")]]
#define WARPSMITH_INLINE [[gnu::always_inline]] inline

template <class Vector>
WARPSMITH_INLINE void load(const float* from, Vector& into) {
  std::memcpy(&into, from, sizeof into);
}
template <class Vector>
WARPSMITH_INLINE void store(const Vector& from, float* into) {
  std::memcpy(into, &from, sizeof from);
}

/// exp(x) for x <= 88, within 2 units in the last place; 0 below -87.
WARPSMITH_INLINE void exp_lanes(Lanes& x) {
  const Lanes zero{};
  const IntLanes tiny = x < zero - 87.0F;
  x = tiny ? zero - 87.0F : x;
  constexpr float magic = 12582912.0F;  // 1.5 * 2^23: adding it rounds to an integer
  const Lanes shifted = x * 1.44269504F + magic;
  const Lanes n = shifted - magic;
  const Lanes r = (x - n * 0.693359375F) + n * 2.12194440e-4F;
  Lanes p = r * 1.9875691500e-4F + 1.3981999507e-3F;
  p = p * r + 8.3334519073e-3F;
  p = p * r + 4.1665795894e-2F;
  p = p * r + 1.6666665459e-1F;
  p = p * r + 5.0000001201e-1F;
  p = p * r * r + r + 1.0F;
  const IntLanes exponent = (__builtin_convertvector(n, IntLanes) + 127) << 23;
  const Lanes result = p * std::bit_cast<Lanes>(exponent);
  x = tiny ? zero : result;
}

struct Panel {
  const float* weights;
  int64_t inputs;
  const float* bias;  // null: none
  int64_t columns;    // of 32 that exist
};

/// R rows against two vectors of a panel's outputs, from `column` of the panel on; sums run over
/// inputs in order. y is where the panel's outputs go.
template <class Vector, int R>
WARPSMITH_INLINE void multiply_rows(const float* x, const Panel& panel, int64_t column,
                                    const Rows& y, Store mode) {
  constexpr int64_t width = sizeof(Vector) / sizeof(float);
  Vector low[R]{};
  Vector high[R]{};
  const float* w = panel.weights + column;
  for (int64_t k = 0; k < panel.inputs; ++k, w += panel_width) {
    Vector w_low;
    Vector w_high;
    load(w, w_low);
    load(w + width, w_high);
    for (int r = 0; r < R; ++r) {
      const float value = x[r * panel.inputs + k];
      low[r] += value * w_low;
      high[r] += value * w_high;
    }
  }
  for (int r = 0; r < R; ++r) {
    float sums[2 * width];
    store(low[r], sums);
    store(high[r], sums + width);
    float* into = y.row(r) + column;
    for (int64_t j = 0; j < std::min(2 * width, panel.columns - column); ++j) {
      const float sum = panel.bias == nullptr ? sums[j] : sums[j] + panel.bias[column + j];
      into[j] = mode == Store::add ? into[j] + sum : sum;
    }
  }
}

template <class Vector, int R>
WARPSMITH_INLINE void multiply_panel_rows(const float* x, const Panel& panel, const Rows& y,
                                          Store mode) {
  constexpr int64_t step = 2 * sizeof(Vector) / sizeof(float);
  for (int64_t column = 0; column < panel.columns; column += step) {
    multiply_rows<Vector, R>(x, panel, column, y, mode);
  }
}

/// Rows in groups of Most, then of Few: so many sums of two vectors stay in registers.
template <class Vector, int Most, int Few>
WARPSMITH_INLINE void multiply_panel(const Rows& x, const Panel& panel, const Rows& y, Store mode) {
  const auto from = [&y](int64_t i) { return Rows{y.row(i), y.count - i, y.width}; };
  int64_t i = 0;
  for (; i + Most <= x.count; i += Most) {
    multiply_panel_rows<Vector, Most>(x.row(i), panel, from(i), mode);
  }
  for (; i + Few <= x.count; i += Few) {
    multiply_panel_rows<Vector, Few>(x.row(i), panel, from(i), mode);
  }
  for (; i < x.count; ++i) multiply_panel_rows<Vector, 1>(x.row(i), panel, from(i), mode);
}

template <class Vector, int Most, int Few>
WARPSMITH_INLINE void multiply_panels(const Rows& x, const PackedMatrix& w, const Rows& y,
                                      Store mode) {
  for (int64_t column = 0; column < w.outputs; column += panel_width) {
    const Panel panel{w.panels.data() + column * w.inputs, w.inputs,
                      w.bias.empty() ? nullptr : w.bias.data() + column,
                      std::min(panel_width, w.outputs - column)};
    multiply_panel<Vector, Most, Few>(x, panel, {y.data + column, y.count, y.width}, mode);
  }
}

/// Where registers hold sixteen lanes, and there are 32 of them.
[[gnu::target("arch=x86-64-v4")]] void multiply_wide(const Rows& x, const PackedMatrix& w,
                                                     const Rows& y, Store mode) {
  multiply_panels<Lanes, 8, 4>(x, w, y, mode);
}

[[gnu::target_clones("arch=x86-64-v3", "default")]] void multiply_narrow(const Rows& x,
                                                                         const PackedMatrix& w,
                                                                         const Rows& y,
                                                                         Store mode) {
  multiply_panels<HalfLanes, 6, 2>(x, w, y, mode);
}

bool is_wide() {
  static const bool wide =
      __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512bw") != 0 &&
      __builtin_cpu_supports("avx512cd") != 0 && __builtin_cpu_supports("avx512dq") != 0 &&
      __builtin_cpu_supports("avx512vl") != 0;
  return wide;
}

/// scores[j] = q . key j of one block, times scale.
WARPSMITH_INLINE void score_block(const float* query, const float* keys, int64_t head_dim,
                                  float scale, float* scores) {
  Lanes even{};
  Lanes odd{};
  for (int64_t d = 0; d < head_dim; d += 2) {
    Lanes k0;
    Lanes k1;
    load(keys + d * lanes, k0);
    load(keys + (d + 1) * lanes, k1);
    even += query[d] * k0;
    odd += query[d + 1] * k1;
  }
  store((even + odd) * scale, scores);
}

/// In place: exp(x - maximum) of the first `count`, zero up to the next multiple of 16; their sum.
WARPSMITH_INLINE float exponentiate(float* x, int64_t count, float maximum) {
  const int64_t padded = (count + lanes - 1) / lanes * lanes;
  for (int64_t i = 0; i < padded; i += lanes) {
    Lanes v;
    load(x + i, v);
    v = v - maximum;
    exp_lanes(v);
    store(v, x + i);
  }
  std::fill(x + count, x + padded, 0.0F);
  Lanes sums{};
  for (int64_t i = 0; i < padded; i += lanes) {
    Lanes v;
    load(x + i, v);
    sums += v;
  }
  float total = 0;
  for (int64_t i = 0; i < lanes; ++i) total += sums[i];
  return total;
}

/// out[0..16) += sum over positions of weight * value, for one group of 16 dimensions.
WARPSMITH_INLINE void mix_lanes(const CacheView& cache, const float* weights, int64_t offset,
                                int64_t padded_dim, Lanes& out) {
  Lanes even{};
  Lanes odd{};
  const int64_t full = (cache.length + lanes - 1) / lanes;
  for (int64_t b = 0; b < full; ++b) {
    const float* values =
        cache.values + cache.blocks[static_cast<size_t>(b)] * cache.block_stride + offset;
    const float* w = weights + b * lanes;
    for (int64_t p = 0; p < lanes; p += 2) {
      Lanes v0;
      Lanes v1;
      load(values + p * padded_dim, v0);
      load(values + (p + 1) * padded_dim, v1);
      even += w[p] * v0;
      odd += w[p + 1] * v1;
    }
  }
  out = even + odd;
}

}  // namespace

PackedMatrix pack_matrix(std::span<const float> weights, int64_t outputs, int64_t inputs) {
  const int64_t panels = (outputs + panel_width - 1) / panel_width;
  PackedMatrix packed{outputs, inputs, {}, {}};
  packed.panels.assign(static_cast<size_t>(panels * inputs * panel_width), 0.0F);
  for (int64_t o = 0; o < outputs; ++o) {
    const float* from = weights.data() + o * inputs;
    float* into = packed.panels.data() + o / panel_width * inputs * panel_width + o % panel_width;
    for (int64_t k = 0; k < inputs; ++k) into[k * panel_width] = from[k];
  }
  return packed;
}

void multiply(const Rows& x, const PackedMatrix& w, const Rows& y, Store mode) {
  (is_wide() ? multiply_wide : multiply_narrow)(x, w, y, mode);
}

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
    int64_t j = 0;
    for (; j + lanes <= y.width; j += lanes) {
      Lanes gate_lanes;
      Lanes up;
      load(a + j, gate_lanes);
      load(b + j, up);
      Lanes e = -gate_lanes;
      e = e > 88.0F ? Lanes{} + 88.0F : e;
      exp_lanes(e);
      store(gate_lanes / (e + 1.0F) * up, into + j);
    }
    for (; j < y.width; ++j) into[j] = a[j] / (1.0F + std::exp(-a[j])) * b[j];
  }
}

WARPSMITH_CLONES
SoftmaxSums exponentials(std::span<float> values, float scale) {
  float maximum = -HUGE_VALF;
  for (float& value : values) {
    value *= scale;
    maximum = std::max(maximum, value);
  }
  const size_t whole = values.size() / lanes * lanes;
  for (size_t i = 0; i < whole; i += lanes) {
    Lanes v;
    load(values.data() + i, v);
    v = v - maximum;
    exp_lanes(v);
    store(v, values.data() + i);
  }
  for (size_t i = whole; i < values.size(); ++i) values[i] = std::exp(values[i] - maximum);
  double total = 0;
  for (const float value : values) total += value;
  return {maximum, total};
}

WARPSMITH_CLONES
void attend(const float* query, const CacheView& cache, const HeadShape& shape,
            std::vector<float>& scratch, float* out) {
  const int64_t full = (cache.length + lanes - 1) / lanes;
  scratch.resize(static_cast<size_t>(full * lanes));
  float* scores = scratch.data();
  const int64_t group = shape.heads / shape.kv_heads;
  const auto scale = static_cast<float>(1.0 / std::sqrt(static_cast<double>(shape.head_dim)));
  for (int64_t h = 0; h < shape.heads; ++h) {
    const int64_t head_offset = h / group * cache.head_stride;
    for (int64_t b = 0; b < full; ++b) {
      const int64_t at = cache.blocks[static_cast<size_t>(b)] * cache.block_stride + head_offset;
      score_block(query + h * shape.head_dim, cache.keys + at, shape.head_dim, scale,
                  scores + b * lanes);
    }
    const float maximum = *std::max_element(scores, scores + cache.length);
    const float inverse = 1.0F / exponentiate(scores, cache.length, maximum);
    for (int64_t d = 0; d < shape.head_dim; d += lanes) {
      Lanes mixed{};
      mix_lanes(cache, scores, head_offset + d, shape.padded_dim, mixed);
      float row[lanes];
      store(mixed * inverse, row);
      const int64_t count = std::min(lanes, shape.head_dim - d);
      std::copy(row, row + count, out + h * shape.head_dim + d);
    }
  }
}

}  // namespace warpsmith::policy::kernels
