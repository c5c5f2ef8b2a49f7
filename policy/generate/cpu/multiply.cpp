// SPDX-License-Identifier: Apache-2.0
// Products of a few rows with a packed matrix; the sums of a tile stay in registers.
#include <algorithm>

#include "policy/generate/cpu/kernels.hpp"
#include "policy/generate/cpu/lanes.hpp"

namespace warpsmith::policy::kernels {
namespace {

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

}  // namespace warpsmith::policy::kernels
