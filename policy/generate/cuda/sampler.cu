// SPDX-License-Identifier: Apache-2.0
// Samples tokens on the GPU that has their logits. A first kernel reduces parts of a row; a second
// one, with a block for each row, picks the token. With top-k or top-p it finds the smallest kept
// logit by radix selection, and picks among the kept tokens.
#include "policy/generate/cuda/device_code.cuh"
#include "policy/generate/cuda/kernels.hpp"

namespace warpsmith::policy::cuda {
namespace {

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

/// A row to pick from. Weights are fixed-point integers, so that sums do not depend on the order of
/// threads.
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
__device__ int find_bin(const unsigned long long* histogram, uint64_t& wanted) {
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

__device__ Kept keep_top_k(const PickRow& row) {
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
__device__ uint64_t kept_weight(const PickRow& row, const Kept& kept) {
  const uint64_t larger =
      sum_over(row, [&](uint32_t key) { return key > kept.key ? row.weight(key) : uint64_t{0}; });
  if (kept.ties == UINT32_MAX) return larger;  // no number has key 0
  return larger + kept.ties * row.weight(kept.key);
}

/// Keeps the likeliest of the remaining tokens (total weight `all`) that reach top_p of it;
/// `all` becomes their weight.
__device__ Kept keep_top_p(const PickRow& row, const Kept& kept, uint64_t& all) {
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
__device__ int32_t pick_kept(const PickRow& row, const Kept& kept, uint64_t all) {
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

__device__ Picked pick_truncated(const PickRow& row) {
  const Kept first = keep_top_k(row);
  uint64_t all = kept_weight(row, first);
  const Kept kept = keep_top_p(row, first, all);
  const int32_t token = pick_kept(row, kept, all);
  return {token, static_cast<double>(all) * 0x1.0p-40};
}

constexpr int part_width = pick_threads * pick_span;

/// The first kernel's result for a part of a row.
struct Partial {
  float maximum;  // of logits
  float total;    // of exp((logit - maximum) x inverse_temperature)
  int32_t argmax;
};

struct Largest {
  float value;
  int32_t index;
};

__device__ Largest larger(Largest a, Largest b) {
  if (b.value > a.value || (b.value == a.value && b.index < a.index)) return b;
  return a;
}

__device__ Largest block_largest(Largest x) {
  __shared__ Largest parts[warp_size];
  for (int step = warp_size / 2; step > 0; step /= 2) {
    x = larger(
        x, {__shfl_xor_sync(all_lanes, x.value, step), __shfl_xor_sync(all_lanes, x.index, step)});
  }
  if (threadIdx.x % warp_size == 0) parts[threadIdx.x / warp_size] = x;
  __syncthreads();
  Largest all = parts[0];
  for (int w = 1; w < static_cast<int>(blockDim.x) / warp_size; ++w) all = larger(all, parts[w]);
  return all;
}

__global__ void partial_kernel(SampleTask task) {
  const int64_t row = blockIdx.y;
  const float* logits = task.logits + row * task.vocab;
  const int64_t first = static_cast<int64_t>(blockIdx.x) * part_width;
  float values[pick_span];
  Largest largest{-INFINITY, static_cast<int32_t>(first)};
  for (int k = 0; k < pick_span; ++k) {
    const int64_t i = first + threadIdx.x + static_cast<int64_t>(k) * pick_threads;
    values[k] = i < task.vocab ? logits[i] : -INFINITY;
    largest = larger(largest, {values[k], static_cast<int32_t>(i)});
  }
  largest = block_largest(largest);
  const float scale = task.orders[row].inverse_temperature;
  float total = 0;
  for (const float value : values) total += expf((value - largest.value) * scale);
  total = block_sum(total);
  if (threadIdx.x > 0) return;
  static_cast<Partial*>(task.partials)[row * gridDim.x + blockIdx.x] = {largest.value, total,
                                                                        largest.index};
}

/// The sums of a row's partials, and the place of its draw.
struct RowSums {
  float maximum;
  double total;
  int32_t argmax;
  int32_t part;      // that contains the draw
  double remaining;  // of the draw within that part
};

/// `totals` is shared memory for `count` numbers. Every thread gets the sums.
__device__ RowSums add_partials(const Partial* partials, int count, const SampleOrder& order,
                                double* totals) {
  __shared__ RowSums shared;
  Largest largest{-INFINITY, 0};
  for (int p = threadIdx.x; p < count; p += pick_threads) {
    largest = larger(largest, {partials[p].maximum, partials[p].argmax});
  }
  largest = block_largest(largest);
  for (int p = threadIdx.x; p < count; p += pick_threads) {
    const float lower = (partials[p].maximum - largest.value) * order.inverse_temperature;
    totals[p] = static_cast<double>(partials[p].total) * expf(lower);
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    RowSums sums{largest.value, 0, largest.index, 0, 0};
    for (int p = 0; p < count; ++p) sums.total += totals[p];
    double left = order.uniform * sums.total;
    for (int p = 0; p < count; ++p) {
      if (totals[p] > 0) {
        sums.part = p;
        sums.remaining = left;
      }
      if (left < totals[p]) break;
      left -= totals[p];
    }
    shared = sums;
  }
  __syncthreads();
  return shared;
}

/// The token at the draw, within the part that contains it.
__device__ int32_t pick_in_part(const float* logits, int64_t vocab, const RowSums& sums,
                                float scale) {
  __shared__ int32_t found, last;
  if (threadIdx.x == 0) found = last = -1;
  const int64_t first =
      static_cast<int64_t>(sums.part) * part_width + static_cast<int64_t>(threadIdx.x) * pick_span;
  float weights[pick_span];
  double own = 0;
  int32_t own_last = -1;
  for (int k = 0; k < pick_span; ++k) {
    const int64_t i = first + k;
    weights[k] = i < vocab ? expf((logits[i] - sums.maximum) * scale) : 0.0F;
    own += weights[k];
    if (weights[k] > 0) own_last = static_cast<int32_t>(i);
  }
  double left = sums.remaining - block_exclusive_sum(own);
  atomicMax(&last, own_last);
  if (left >= 0 && left < own) {
    for (int k = 0; k < pick_span; ++k) {
      left -= weights[k];
      if (left >= 0 || weights[k] <= 0) continue;
      found = static_cast<int32_t>(first) + k;
      break;
    }
  }
  __syncthreads();
  // The parts were summed in another order, so rounding may leave a remainder.
  return found >= 0 ? found : last;
}

__global__ void pick_kernel(SampleTask task, int parts) {
  extern __shared__ double totals[];
  const int64_t row = blockIdx.x;
  const float* logits = task.logits + row * task.vocab;
  const SampleOrder order = task.orders[row];
  const RowSums sums =
      add_partials(static_cast<const Partial*>(task.partials) + row * parts, parts, order, totals);
  const bool truncated = order.greedy == 0 && (order.top_k > 0 || order.top_p < 1);
  Picked picked{sums.argmax, 1.0};
  if (truncated) {
    picked = pick_truncated({logits, task.vocab, sums.maximum, order});
  } else if (order.greedy == 0) {
    picked = {pick_in_part(logits, task.vocab, sums, order.inverse_temperature), sums.total};
  }
  if (threadIdx.x > 0) return;
  picked.token = max(0, min(picked.token, static_cast<int32_t>(task.vocab) - 1));  // if all are NaN
  const double scaled =
      (static_cast<double>(logits[picked.token]) - sums.maximum) * order.inverse_temperature;
  DeviceSample& out = task.out[row];
  out.token = picked.token;
  out.log_prob = static_cast<float>(scaled - log(sums.total));
  out.sampled_log_prob = order.greedy != 0 ? 0.0F : static_cast<float>(scaled - log(picked.total));
}

int parts_of(int64_t vocab) {
  return static_cast<int>((vocab + part_width - 1) / part_width);
}

}  // namespace

int64_t sample_partial_bytes(int64_t rows, int64_t vocab) {
  return rows * parts_of(vocab) * static_cast<int64_t>(sizeof(Partial));
}

void sample(const SampleTask& task, StreamHandle stream) {
  const int parts = parts_of(task.vocab);
  const auto rows = static_cast<unsigned>(task.rows);
  partial_kernel<<<dim3(static_cast<unsigned>(parts), rows), pick_threads, 0, stream>>>(task);
  check_launch("partial");
  pick_kernel<<<rows, pick_threads, static_cast<size_t>(parts) * sizeof(double), stream>>>(task,
                                                                                           parts);
  check_launch("pick");
}

}  // namespace warpsmith::policy::cuda
