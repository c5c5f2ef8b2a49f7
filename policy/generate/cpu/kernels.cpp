// SPDX-License-Identifier: Apache-2.0
#include "policy/generate/cpu/kernels.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>

// One clone per instruction set, chosen at start. Helpers are inlined, so that they are compiled
// for each set too.
#define WARPSMITH_CLONES [[gnu::target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")]]
#define WARPSMITH_INLINE [[gnu::always_inline]] inline

namespace warpsmith::policy::kernels {
namespace {

// Vectors of float32, as wide as an AVX2 register: GCC keeps wider vectors in memory there, which
// takes 3 to 28 times as long. Only `multiply` uses wider registers; other loops would gain too
// little.
using Lanes [[gnu::vector_size(32)]] = float;
using WideLanes [[gnu::vector_size(64)]] = float;

template <class Vector>
inline constexpr int64_t width_of = sizeof(Vector) / sizeof(float);

/// Positions of a block of the cache, and dimensions that are summed together: two vectors.
inline constexpr int64_t group = 16;
inline constexpr int64_t lanes = width_of<Lanes>;
inline constexpr int64_t parts = group / lanes;

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
  using Integers [[gnu::vector_size(32)]] = int32_t;
  const Lanes zero{};
  const Integers tiny = x < zero - 87.0F;
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
  const Integers exponent = (__builtin_convertvector(n, Integers) + 127) << 23;
  const Lanes result = p * std::bit_cast<Lanes>(exponent);
  x = tiny ? zero : result;
}

/// In place: exp(x - maximum) of the first `count`, a multiple of a vector's lanes.
WARPSMITH_INLINE void exp_below(float* x, int64_t count, float maximum) {
  for (int64_t i = 0; i < count; i += lanes) {
    Lanes v;
    load(x + i, v);
    v = v - maximum;
    exp_lanes(v);
    store(v, x + i);
  }
}

// Products of a few rows with a packed matrix; the sums of a tile stay in registers.

/// The columns of a panel from some column on.
struct Columns {
  const float* weights;  // (inputs, 32), at the first column
  int64_t inputs;
  const float* bias;  // null: none
  int64_t count;      // that exist
};

/// Multiplies R rows by two vectors of outputs into `y`; sums run over inputs in order.
template <class Vector, int R>
WARPSMITH_INLINE void multiply_rows(const float* x, const Columns& columns, const Rows& y,
                                    Store mode) {
  constexpr int64_t width = width_of<Vector>;
  Vector low[R]{};
  Vector high[R]{};
  const float* w = columns.weights;
  for (int64_t k = 0; k < columns.inputs; ++k, w += panel_width) {
    Vector w_low;
    Vector w_high;
    load(w, w_low);
    load(w + width, w_high);
    for (int r = 0; r < R; ++r) {
      const float value = x[r * columns.inputs + k];
      low[r] += value * w_low;
      high[r] += value * w_high;
    }
  }
  for (int r = 0; r < R; ++r) {
    float sums[2 * width];
    store(low[r], sums);
    store(high[r], sums + width);
    float* into = y.row(r);
    for (int64_t j = 0; j < std::min(2 * width, columns.count); ++j) {
      const float sum = columns.bias == nullptr ? sums[j] : sums[j] + columns.bias[j];
      into[j] = mode == Store::add ? into[j] + sum : sum;
    }
  }
}

template <class Vector, int R>
WARPSMITH_INLINE void multiply_panel_rows(const float* x, Columns panel, Rows y, Store mode) {
  constexpr int64_t step = 2 * width_of<Vector>;
  for (; panel.count > 0; panel.count -= step, panel.weights += step, y.data += step) {
    multiply_rows<Vector, R>(x, panel, y, mode);
    if (panel.bias != nullptr) panel.bias += step;
  }
}

Rows rows_from(const Rows& rows, int64_t i) {
  return {rows.row(i), rows.count - i, rows.width};
}

/// Multiplies rows in the largest tiles that fit; the largest fills the registers with its sums.
template <class Vector, int Tile, int... Smaller>
WARPSMITH_INLINE void multiply_panel(const Rows& x, const Columns& panel, const Rows& y,
                                     Store mode) {
  int64_t i = 0;
  for (; i + Tile <= x.count; i += Tile) {
    multiply_panel_rows<Vector, Tile>(x.row(i), panel, rows_from(y, i), mode);
  }
  if constexpr (sizeof...(Smaller) > 0) {
    multiply_panel<Vector, Smaller...>(rows_from(x, i), panel, rows_from(y, i), mode);
  }
}

template <class Vector, int... Tiles>
WARPSMITH_INLINE void multiply_panels(const Rows& x, const PackedMatrix& w, const Rows& y,
                                      Store mode) {
  for (int64_t column = 0; column < w.outputs; column += panel_width) {
    const Columns panel{w.panels.data() + column * w.inputs, w.inputs,
                        w.bias.empty() ? nullptr : w.bias.data() + column,
                        std::min(panel_width, w.outputs - column)};
    multiply_panel<Vector, Tiles...>(x, panel, {y.data + column, y.count, y.width}, mode);
  }
}

/// For 32 registers of sixteen lanes.
[[gnu::target("arch=x86-64-v4")]] void multiply_wide(const Rows& x, const PackedMatrix& w,
                                                     const Rows& y, Store mode) {
  multiply_panels<WideLanes, 8, 4, 2, 1>(x, w, y, mode);
}

[[gnu::target_clones("arch=x86-64-v3", "default")]] void multiply_narrow(const Rows& x,
                                                                         const PackedMatrix& w,
                                                                         const Rows& y,
                                                                         Store mode) {
  multiply_panels<Lanes, 6, 4, 2, 1>(x, w, y, mode);
}

bool is_wide() {
  static const bool wide =
      __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512bw") != 0 &&
      __builtin_cpu_supports("avx512cd") != 0 && __builtin_cpu_supports("avx512dq") != 0 &&
      __builtin_cpu_supports("avx512vl") != 0;
  return wide;
}

// Attention of one query over the blocks of the KV cache.

/// Terms are added to two sums alternately, because the two additions can overlap.
struct Sums {
  Lanes even[parts]{};
  Lanes odd[parts]{};
};

/// sums += weights[0] * from[0..16) + weights[1] * from[stride..stride + 16).
WARPSMITH_INLINE void add_two(const float* weights, const float* from, int64_t stride, Sums& sums) {
  for (int64_t p = 0; p < parts; ++p) {
    Lanes even;
    Lanes odd;
    load(from + p * lanes, even);
    load(from + stride + p * lanes, odd);
    sums.even[p] += weights[0] * even;
    sums.odd[p] += weights[1] * odd;
  }
}

WARPSMITH_INLINE void store_scaled(const Sums& sums, float scale, float* into) {
  for (int64_t p = 0; p < parts; ++p) {
    store((sums.even[p] + sums.odd[p]) * scale, into + p * lanes);
  }
}

/// scores[j] = q . key j of one block, times scale.
WARPSMITH_INLINE void score_block(const float* query, const float* keys, int64_t head_dim,
                                  float scale, float* scores) {
  Sums sums;
  for (int64_t d = 0; d < head_dim; d += 2) add_two(query + d, keys + d * group, group, sums);
  store_scaled(sums, scale, scores);
}

/// In place: exp(x - maximum) of the first `count`, zero up to the next multiple of 16; their sum.
WARPSMITH_INLINE float exponentiate(float* x, int64_t count, float maximum) {
  const int64_t padded = (count + group - 1) / group * group;
  exp_below(x, padded, maximum);
  std::fill(x + count, x + padded, 0.0F);
  Lanes sums[parts]{};
  for (int64_t i = 0; i < padded; i += group) {
    for (int64_t p = 0; p < parts; ++p) {
      Lanes v;
      load(x + i + p * lanes, v);
      sums[p] += v;
    }
  }
  float total = 0;
  for (int64_t i = 0; i < group; ++i) total += sums[i / lanes][i % lanes];
  return total;
}

/// out[0..16) = scale * sum over positions of weight * value, for one group of 16 dimensions.
WARPSMITH_INLINE void mix_values(const CacheView& cache, const float* weights, int64_t offset,
                                 int64_t padded_dim, float scale, float* out) {
  Sums sums;
  const int64_t full = (cache.length + group - 1) / group;
  for (int64_t b = 0; b < full; ++b) {
    const float* values =
        cache.values + cache.blocks[static_cast<size_t>(b)] * cache.block_stride + offset;
    for (int64_t j = 0; j < group; j += 2) {
      add_two(weights + b * group + j, values + j * padded_dim, padded_dim, sums);
    }
  }
  store_scaled(sums, scale, out);
}

}  // namespace

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
void attend(const float* query, const CacheView& cache, const HeadShape& shape,
            std::vector<float>& scratch, float* out) {
  const int64_t full = (cache.length + group - 1) / group;
  scratch.resize(static_cast<size_t>(full * group));
  float* scores = scratch.data();
  const int64_t sharing = shape.heads / shape.kv_heads;
  const auto scale = static_cast<float>(1.0 / std::sqrt(static_cast<double>(shape.head_dim)));
  for (int64_t h = 0; h < shape.heads; ++h) {
    const int64_t head_offset = h / sharing * cache.head_stride;
    for (int64_t b = 0; b < full; ++b) {
      const int64_t at = cache.blocks[static_cast<size_t>(b)] * cache.block_stride + head_offset;
      score_block(query + h * shape.head_dim, cache.keys + at, shape.head_dim, scale,
                  scores + b * group);
    }
    const float maximum = *std::max_element(scores, scores + cache.length);
    const float inverse = 1.0F / exponentiate(scores, cache.length, maximum);
    for (int64_t d = 0; d < shape.head_dim; d += group) {
      float row[group];
      mix_values(cache, scores, head_offset + d, shape.padded_dim, inverse, row);
      const int64_t count = std::min(group, shape.head_dim - d);
      std::copy(row, row + count, out + h * shape.head_dim + d);
    }
  }
}

}  // namespace warpsmith::policy::kernels
