// SPDX-License-Identifier: Apache-2.0
// Sampling with top-k and top-p by one block: finds the smallest kept logit by radix selection, and
// picks among the kept tokens. Weights are fixed-point integers, so that sums do not depend on the
// order of threads.
#pragma once

#include "policy/generate/cuda/device_code.cuh"
#include "policy/generate/cuda/kernels.hpp"

namespace warpsmith::policy::cuda {

constexpr int pick_threads = 256;
constexpr int pick_span = 16;  // neighbouring tokens of a thread

/// The sum over the threads before this one, of a block of `pick_threads`. `all` gets the sum of
/// all.
template <class T>
__device__ T block_exclusive_sum(T x, T* all = nullptr) {
  __shared__ T ends[pick_threads / warp_size];
  const int lane = static_cast<int>(threadIdx.x) % warp_size;
  const int warp = static_cast<int>(threadIdx.x) / warp_size;
  T sum = x;
  for (int step = 1; step < warp_size; step *= 2) {
    const T before = __shfl_up_sync(all_lanes, sum, step);
    if (lane >= step) sum += before;
  }
  __syncthreads();  // an earlier call may still read `ends`
  if (lane == warp_size - 1) ends[warp] = sum;
  __syncthreads();
  T start = 0;
  T total = 0;
  for (int w = 0; w < pick_threads / warp_size; ++w) {
    if (w < warp) start += ends[w];
    total += ends[w];
  }
  if (all != nullptr) *all = total;
  return start + sum - x;
}

struct Picked {
  int32_t token;
  double total;  // of the weights that it was picked from, as multiples of the likeliest token's
};

/// A row to pick from.
struct PickRow {
  const float* logits;
  int64_t vocab;
  float maximum;
  SampleOrder order;

  /// A number whose order is that of logits.
  __device__ uint32_t key(int64_t i) const {
    const uint32_t bits = __float_as_uint(logits[i]);
    return (bits & 0x80000000U) != 0 ? ~bits : bits | 0x80000000U;
  }
  __device__ static float value_of(uint32_t key) {
    return __uint_as_float((key & 0x80000000U) != 0 ? key & 0x7fffffffU : ~key);
  }
  /// exp of the scaled logit below the maximum, times 2^40.
  __device__ uint64_t weight(uint32_t key) const {
    const float below = (value_of(key) - maximum) * order.inverse_temperature;
    const float exponential = fmaxf(expf(below), 0.0F);  // 0 for NaN
    return static_cast<uint64_t>(static_cast<double>(exponential) * 0x1.0p40);
  }
};

/// Keeps tokens with a larger key, and the first `ties` ones with this key.
struct Kept {
  uint32_t key = 0;
  uint32_t ties = UINT32_MAX;
  uint32_t equal = 0;  // tokens with this key, if `ties` is less
};

constexpr int digit_bits = 11;
constexpr int bins = 1 << digit_bits;
constexpr int bins_of_thread = bins / pick_threads;

/// Finds the bin, from the largest down, at which the sum reaches `wanted`; takes the sum of the
/// larger bins from `wanted`, which is at most the sum of all bins.
__device__ inline int find_bin(const unsigned long long* histogram, uint64_t& wanted) {
  __shared__ int found;
  __shared__ uint64_t rest;
  unsigned long long own = 0;
  const int top = bins - 1 - static_cast<int>(threadIdx.x) * bins_of_thread;
  for (int k = 0; k < bins_of_thread; ++k) own += histogram[top - k];
  unsigned long long before = block_exclusive_sum(own);
  if (before < wanted && before + own >= wanted) {
    int bin = top;
    while (before + histogram[bin] < wanted) before += histogram[bin--];
    found = bin;
    rest = wanted - before;
  }
  __syncthreads();
  wanted = rest;
  const int result = found;
  __syncthreads();
  return result;
}

/// Selects the key at which the measure of tokens, from the likeliest on, reaches `wanted`, which
/// is at least 1 and at most the measure of all. `measure(key)` is what a token counts, 0 for one
/// to leave out; `correct(histogram, prefix, shift)` may change a histogram before it is used.
template <class Measure, class Correct>
__device__ uint32_t select_key(const PickRow& row, uint64_t& wanted, const Measure& measure,
                               const Correct& correct) {
  __shared__ unsigned long long histogram[bins];
  uint32_t prefix = 0;
  int known = 0;  // leading bits of the key
  while (known < 32) {
    const int width = min(digit_bits, 32 - known);
    const int shift = 32 - known - width;
    for (int b = threadIdx.x; b < bins; b += pick_threads) histogram[b] = 0;
    __syncthreads();
    for (int64_t i = threadIdx.x; i < row.vocab; i += pick_threads) {
      const uint32_t key = row.key(i);
      if ((static_cast<uint64_t>(key ^ prefix) >> (shift + width)) != 0) continue;
      const uint64_t counts = measure(key);
      if (counts > 0) atomicAdd(&histogram[(key >> shift) & ((1U << width) - 1)], counts);
    }
    __syncthreads();
    if (threadIdx.x == 0) correct(histogram, prefix, shift, width);
    __syncthreads();
    prefix |= static_cast<uint32_t>(find_bin(histogram, wanted)) << shift;
    known += width;
  }
  return prefix;
}

/// Calls `visit(key)` for this thread's share of the tokens and returns the block's sum.
template <class Visit>
__device__ uint64_t sum_over(const PickRow& row, const Visit& visit) {
  uint64_t own = 0;
  for (int64_t i = threadIdx.x; i < row.vocab; i += pick_threads) own += visit(row.key(i));
  uint64_t all = 0;
  block_exclusive_sum(own, &all);
  return all;
}

__device__ inline Kept keep_top_k(const PickRow& row) {
  const auto limit = static_cast<uint64_t>(row.order.top_k);
  if (limit == 0 || limit >= static_cast<uint64_t>(row.vocab)) return {};
  Kept kept;
  uint64_t wanted = limit;
  kept.key = select_key(
      row, wanted, [](uint32_t) { return uint64_t{1}; },
      [](unsigned long long*, uint32_t, int, int) {});
  kept.ties = static_cast<uint32_t>(wanted);
  kept.equal =
      static_cast<uint32_t>(sum_over(row, [&](uint32_t key) { return key == kept.key ? 1U : 0U; }));
  return kept;
}

/// The weight of all kept tokens.
__device__ inline uint64_t kept_weight(const PickRow& row, const Kept& kept) {
  const uint64_t larger =
      sum_over(row, [&](uint32_t key) { return key > kept.key ? row.weight(key) : uint64_t{0}; });
  if (kept.ties == UINT32_MAX) return larger;  // no number has key 0
  return larger + kept.ties * row.weight(kept.key);
}

/// Of the tokens kept so far, whose weight is `all`, keeps the likeliest that reach top_p of it;
/// `all` becomes their weight.
__device__ inline Kept keep_top_p(const PickRow& row, const Kept& kept, uint64_t& all) {
  if (row.order.top_p >= 1) return kept;
  const double limit = ceil(static_cast<double>(row.order.top_p) * static_cast<double>(all));
  const uint64_t target = max(uint64_t{1}, min(static_cast<uint64_t>(limit), all));
  uint64_t wanted = target;
  const uint64_t excess =
      kept.ties == UINT32_MAX ? 0 : (kept.equal - kept.ties) * row.weight(kept.key);
  Kept result;
  result.key = select_key(
      row, wanted, [&](uint32_t key) { return key >= kept.key ? row.weight(key) : uint64_t{0}; },
      [&](unsigned long long* histogram, uint32_t prefix, int shift, int width) {
        const bool here = (static_cast<uint64_t>(kept.key ^ prefix) >> (shift + width)) == 0;
        if (here) histogram[(kept.key >> shift) & ((1U << width) - 1)] -= excess;
      });
  const uint64_t weight = row.weight(result.key);
  result.ties = static_cast<uint32_t>((wanted + weight - 1) / weight);
  all = target - wanted + result.ties * weight;
  return result;
}

/// The kept token at the draw, in the order of ids.
__device__ inline int32_t pick_kept(const PickRow& row, const Kept& kept, uint64_t all) {
  __shared__ int32_t found;
  if (threadIdx.x == 0) found = -1;
  __syncthreads();
  const uint64_t draw =
      min(static_cast<uint64_t>(row.order.uniform * static_cast<double>(all)), all - 1);
  uint64_t passed = 0;
  uint32_t ties = 0;
  for (int64_t begin = 0; begin < row.vocab && found < 0; begin += pick_threads * pick_span) {
    const int64_t first = begin + static_cast<int64_t>(threadIdx.x) * pick_span;
    const int64_t end = min(first + pick_span, row.vocab);
    uint32_t own_ties = 0;
    for (int64_t i = first; i < end; ++i) own_ties += row.key(i) == kept.key ? 1 : 0;
    uint32_t all_ties = 0;
    const uint32_t ties_before = ties + block_exclusive_sum(own_ties, &all_ties);
    const auto walk = [&](uint64_t sum, bool search) {
      uint32_t rank = ties_before;
      for (int64_t i = first; i < end; ++i) {
        const uint32_t key = row.key(i);
        const bool is_kept = key > kept.key || (key == kept.key && rank++ < kept.ties);
        if (!is_kept) continue;
        sum += row.weight(key);
        if (search && sum > draw) {
          found = static_cast<int32_t>(i);
          break;
        }
      }
      return sum;
    };
    const uint64_t own = walk(0, false);
    uint64_t chunk = 0;
    const uint64_t before = passed + block_exclusive_sum(own, &chunk);
    if (before <= draw && draw < before + own) walk(before, true);
    passed += chunk;
    ties += all_ties;
    __syncthreads();
  }
  return found;
}

__device__ inline Picked pick_truncated(const PickRow& row) {
  const Kept first = keep_top_k(row);
  uint64_t all = kept_weight(row, first);
  const Kept kept = keep_top_p(row, first, all);
  const int32_t token = pick_kept(row, kept, all);
  return {token, static_cast<double>(all) * 0x1.0p-40};
}

}  // namespace warpsmith::policy::cuda
