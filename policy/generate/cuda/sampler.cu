// SPDX-License-Identifier: Apache-2.0
// Samples tokens where their logits are. A first kernel reduces parts of a row; a second one, with
// a block for each row, picks the token. Rows with top-k or top-p are picked in truncated_pick.cuh.
#include "policy/generate/cuda/truncated_pick.cuh"

namespace warpsmith::policy::cuda {
namespace {

constexpr int part_width = pick_threads * pick_span;

/// What the first kernel learns of a part of a row.
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

/// What the partials of a row add up to, and where its draw falls.
struct RowSums {
  float maximum;
  double total;
  int32_t argmax;
  int32_t part;      // that holds the draw
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

/// The token at the draw, within the part that holds it.
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
  // The parts were summed in another order, so rounding may leave a rest.
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
