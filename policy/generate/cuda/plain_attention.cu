// SPDX-License-Identifier: Apache-2.0
// Attention over pages in float32 arithmetic, for any precision and head size.
#include <stdexcept>

#include "policy/generate/cuda/device_code.cuh"
#include "policy/generate/cuda/kernels.hpp"

namespace warpsmith::policy::cuda {
namespace {

constexpr int warps = 4;
constexpr int most_dims = 8;  // of a lane: heads of up to 256 dimensions

/// A softmax-weighted sum of values that grows position by position.
struct Running {
  float maximum = -INFINITY, total = 0;
  float sums[most_dims] = {};
};

template <class T>
__device__ void add_position(const T* key, const T* value, const float (&query)[most_dims], int dim,
                             Running& state) {
  const int lane = threadIdx.x;
  float score = 0;
#pragma unroll
  for (int k = 0; k < most_dims; ++k) {
    const int i = lane + k * warp_size;
    if (i < dim) score += query[k] * to_float(key[i]);
  }
  score = warp_sum(score);
  const float maximum = fmaxf(state.maximum, score);
  const float shrink = expf(state.maximum - maximum);
  const float weight = expf(score - maximum);
  state.maximum = maximum;
  state.total = state.total * shrink + weight;
#pragma unroll
  for (int k = 0; k < most_dims; ++k) {
    const int i = lane + k * warp_size;
    if (i < dim) state.sums[k] = state.sums[k] * shrink + weight * to_float(value[i]);
  }
}

/// Adds up the parts of a block's warps, in their order, and writes the mean.
template <class T>
__device__ void join(const Running& state, int dim, T* out) {
  __shared__ float maxima[warps], totals[warps], sums[warps][most_dims * warp_size];
  const int lane = threadIdx.x;
  const int warp = threadIdx.y;
  maxima[warp] = state.maximum;
  totals[warp] = state.total;
  for (int k = 0; k < most_dims; ++k) sums[warp][lane + k * warp_size] = state.sums[k];
  __syncthreads();
  float maximum = -INFINITY;
  for (int w = 0; w < warps; ++w) maximum = fmaxf(maximum, maxima[w]);
  for (int i = warp * warp_size + lane; i < dim; i += warps * warp_size) {
    float total = 0;
    float sum = 0;
    for (int w = 0; w < warps; ++w) {
      const float scale = expf(maxima[w] - maximum);
      total += totals[w] * scale;
      sum += sums[w][i] * scale;
    }
    out[i] = from_float<T>(sum / total);
  }
}

/// A block for each row and head; each of its warps takes every fourth position.
template <class T>
__global__ void plain_attention_kernel(PlainAttentionTask task, float scale) {
  const int64_t row = blockIdx.x;
  const int64_t head = blockIdx.y;
  const int64_t kv_head = head / (task.heads / task.kv_heads);
  const int dim = static_cast<int>(task.head_dim);
  const int lane = threadIdx.x;
  const T* from = static_cast<const T*>(task.queries) + row * task.query_stride + head * dim;
  float query[most_dims];
  for (int k = 0; k < most_dims; ++k) {
    const int i = lane + k * warp_size;
    query[k] = i < dim ? to_float(from[i]) * scale : 0.0F;
  }
  const int32_t* blocks = task.blocks + task.block_starts[task.sequences[row]];
  Running state;
  for (int64_t p = threadIdx.y; p <= task.positions[row]; p += warps) {
    const int64_t place =
        ((blocks[p / page_tokens] * task.kv_heads + kv_head) * page_tokens + p % page_tokens) * dim;
    add_position(static_cast<const T*>(task.keys) + place,
                 static_cast<const T*>(task.values) + place, query, dim, state);
  }
  join(state, dim, static_cast<T*>(task.out) + (row * task.heads + head) * dim);
}

}  // namespace

void plain_attention(const PlainAttentionTask& task, Precision precision, StreamHandle stream) {
  if (task.head_dim > most_dims * warp_size) {
    throw std::invalid_argument("attention: expected heads of at most 256 dimensions, got " +
                                std::to_string(task.head_dim));
  }
  const float scale = 1.0F / sqrtf(static_cast<float>(task.head_dim));
  const dim3 grid(static_cast<unsigned>(task.rows), static_cast<unsigned>(task.heads));
  with_element(precision, [&]<class T>(T) {
    plain_attention_kernel<T><<<grid, dim3(warp_size, warps), 0, stream>>>(task, scale);
  });
  check_launch("plain_attention");
}

}  // namespace warpsmith::policy::cuda
