// SPDX-License-Identifier: Apache-2.0
// Fills input sets. A thread makes the blocks of 16 elements, one per plane.
#include "sandbox/judge/gpu/kernel_orders.hpp"

namespace warpsmith::sandbox {
namespace {

template <class T>
struct alignas(4 * sizeof(T) < 16 ? 4 * sizeof(T) : 16) FourOf {
  T values[4];
};

/// Elements first … first + 3, or as many of them as exist.
template <class T>
__device__ void store_four(const FillOrder& order, uint64_t first, const float (&values)[4]) {
  T* out = static_cast<T*>(order.out) + first;
  FourOf<T> four;
  for (int i = 0; i < 4; ++i) four.values[i] = from_float<T>(values[i]);
  if (first + 4 <= order.count) {
    *reinterpret_cast<FourOf<T>*>(out) = four;
    return;
  }
  for (int i = 0; i < 4; ++i) {
    if (first + i < order.count) out[i] = four.values[i];
  }
}

template <Distribution distribution, class T>
__device__ void store_all(const FillOrder& order, uint64_t first,
                          const ChachaBlock (&planes)[planes_of(distribution)]) {
  for (int quad = 0; quad < 4; ++quad) {
    float values[4];
    for (int i = 0; i < 4; ++i) {
      uint32_t words[most_planes] = {};
      for (uint32_t p = 0; p < planes_of(distribution); ++p) {
        words[p] = planes[p].words[4 * quad + i];
      }
      values[i] = filled_value(order, distribution, words);
    }
    store_four<T>(order, first + 128 * quad, values);
  }
}

template <Distribution distribution>
__device__ void fill(const FillOrder& order) {
  const uint64_t block = uint64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  const uint64_t first = block / 32 * tile_elements + block % 32 * 4;
  if (first >= order.count) return;
  ChachaBlock planes[planes_of(distribution)];
  for (uint32_t p = 0; p < planes_of(distribution); ++p) {
    planes[p] = chacha_block(order.key, stream_counter(order.tensor, p, block), order.set);
  }
  if (order.dtype == Dtype::f32) return store_all<distribution, float>(order, first, planes);
  if (order.dtype == Dtype::f64) return store_all<distribution, double>(order, first, planes);
  if (order.dtype == Dtype::f16) return store_all<distribution, HalfBits>(order, first, planes);
  if (order.dtype == Dtype::bf16) return store_all<distribution, BfloatBits>(order, first, planes);
}

}  // namespace

extern "C" __global__ void __launch_bounds__(256) warpsmith_fill_normal(FillOrder order) {
  fill<Distribution::normal>(order);
}
extern "C" __global__ void __launch_bounds__(256) warpsmith_fill_shifted(FillOrder order) {
  fill<Distribution::shifted>(order);
}
extern "C" __global__ void __launch_bounds__(256) warpsmith_fill_wide(FillOrder order) {
  fill<Distribution::wide>(order);
}
extern "C" __global__ void __launch_bounds__(256) warpsmith_fill_sparse(FillOrder order) {
  fill<Distribution::sparse>(order);
}
extern "C" __global__ void __launch_bounds__(256) warpsmith_fill_dense(FillOrder order) {
  fill<Distribution::dense>(order);
}

/// One thread per row, with its own block.
extern "C" __global__ void warpsmith_place_huge(FillOrder order) {
  const uint64_t row = uint64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  const uint64_t start = row * order.row;
  if (start >= order.count) return;
  const uint64_t left = order.count - start;
  const uint64_t length = left < order.row ? left : order.row;
  const ChachaBlock draws =
      chacha_block(order.key, stream_counter(order.tensor, huge_plane, row), order.set);
  const uint64_t at = start + place_of_huge(draws.words[0], draws.words[2], length);
  const float value = huge_value(order.domain, draws.words[1]);
  if (order.dtype == Dtype::f32) static_cast<float*>(order.out)[at] = value;
  if (order.dtype == Dtype::f64) static_cast<double*>(order.out)[at] = from_float<double>(value);
  if (order.dtype == Dtype::f16) {
    static_cast<HalfBits*>(order.out)[at] = from_float<HalfBits>(value);
  }
  if (order.dtype == Dtype::bf16) {
    static_cast<BfloatBits*>(order.out)[at] = from_float<BfloatBits>(value);
  }
}

}  // namespace warpsmith::sandbox
