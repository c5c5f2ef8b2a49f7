// SPDX-License-Identifier: Apache-2.0
// The small operators between two products.
#include "policy/generate/cuda/device_code.cuh"
#include "policy/generate/cuda/kernels.hpp"

#include <algorithm>
#include <stdexcept>

namespace warpsmith::policy::cuda {
namespace {

constexpr int threads = 256;

template <class T>
__global__ void embed_kernel(EmbedTask task) {
  const int64_t row = blockIdx.x;
  const int32_t sample = task.from_samples[row];
  const int64_t token = sample >= 0 ? task.samples[sample].token : task.tokens[row];
  const T* from = static_cast<const T*>(task.table) + token * task.width;
  float* to = task.hidden + row * task.width;
  for (int64_t i = threadIdx.x; i < task.width; i += blockDim.x) to[i] = to_float(from[i]);
}

constexpr int most_quads = 4;  // of a thread, in registers: rows of up to 16,384

/// hidden + bias of one quad; written back if there is a bias.
template <class T>
__device__ float4 biased(float* hidden, const T* bias, int64_t i) {
  float4 x = load_four(hidden + i);
  if (bias == nullptr) return x;
  const float4 b = load_four(bias + i);
  x = {x.x + b.x, x.y + b.y, x.z + b.z, x.w + b.w};
  store_four(hidden + i, x);
  return x;
}

__device__ float square_sum(float4 x) {
  return x.x * x.x + x.y * x.y + x.z * x.z + x.w * x.w;
}

template <class T>
__global__ void norm_kernel(NormTask task) {
  let_next_kernel_start();
  wait_for_earlier_kernels();
  const int64_t row = blockIdx.x;
  float* hidden = task.hidden + (task.chosen == nullptr ? row : task.chosen[row]) * task.width;
  const T* bias = static_cast<const T*>(task.bias);
  const T* weight = static_cast<const T*>(task.weight);
  float4 kept[most_quads];
  float squares = 0;
#pragma unroll
  for (int k = 0; k < most_quads; ++k) {
    const int64_t i = 4 * (threadIdx.x + static_cast<int64_t>(k) * blockDim.x);
    kept[k] = i < task.width ? biased(hidden, bias, i) : float4{};
    squares += square_sum(kept[k]);
  }
  const float scale = rsqrtf(block_sum(squares) / static_cast<float>(task.width) + task.eps);
  T* out = static_cast<T*>(task.out) + row * task.width;
#pragma unroll
  for (int k = 0; k < most_quads; ++k) {
    const int64_t i = 4 * (threadIdx.x + static_cast<int64_t>(k) * blockDim.x);
    if (i >= task.width) continue;
    const float4 w = load_four(weight + i);
    const float4 x = kept[k];
    store_four(out + i,
               {x.x * scale * w.x, x.y * scale * w.y, x.z * scale * w.z, x.w * scale * w.w});
  }
}

constexpr int most_pairs = 4;  // of a lane: heads of up to 256 dimensions

/// The pairs (x[i], x[i + half]) of one head that a lane of its warp holds.
struct Pairs {
  float low[most_pairs], high[most_pairs];
};

template <class T>
__device__ void load_head(const T* head, const T* bias, int half, Pairs& pairs) {
  const int lane = threadIdx.x;
#pragma unroll
  for (int k = 0; k < most_pairs; ++k) {
    const int i = lane + k * warp_size;
    const bool has = i < half;
    pairs.low[k] = has ? to_float(head[i]) : 0.0F;
    pairs.high[k] = has ? to_float(head[i + half]) : 0.0F;
    if (bias == nullptr || !has) continue;
    pairs.low[k] += to_float(bias[i]);
    pairs.high[k] += to_float(bias[i + half]);
  }
}

template <class T>
__device__ void normalise_head(const T* weight, float eps, int half, Pairs& pairs) {
  float squares = 0;
#pragma unroll
  for (int k = 0; k < most_pairs; ++k) {
    squares += pairs.low[k] * pairs.low[k] + pairs.high[k] * pairs.high[k];
  }
  const float scale = rsqrtf(warp_sum(squares) / static_cast<float>(2 * half) + eps);
  const int lane = threadIdx.x;
#pragma unroll
  for (int k = 0; k < most_pairs; ++k) {
    const int i = lane + k * warp_size;
    if (i >= half) continue;
    pairs.low[k] *= scale * to_float(weight[i]);
    pairs.high[k] *= scale * to_float(weight[i + half]);
  }
}

__device__ void rotate_head(const float* cos_sin, int half, Pairs& pairs) {
  const int lane = threadIdx.x;
#pragma unroll
  for (int k = 0; k < most_pairs; ++k) {
    const int i = lane + k * warp_size;
    if (i >= half) continue;
    const float cosine = cos_sin[i];
    const float sine = cos_sin[i + half];
    const float low = pairs.low[k];
    pairs.low[k] = low * cosine - pairs.high[k] * sine;
    pairs.high[k] = pairs.high[k] * cosine + low * sine;
  }
}

template <class T>
__device__ void store_head(const Pairs& pairs, int half, T* head) {
  const int lane = threadIdx.x;
#pragma unroll
  for (int k = 0; k < most_pairs; ++k) {
    const int i = lane + k * warp_size;
    if (i >= half) continue;
    head[i] = from_float<T>(pairs.low[k]);
    head[i + half] = from_float<T>(pairs.high[k]);
  }
}

/// A warp for each head of each row: queries, then keys, then values.
template <class T>
__global__ void rotate_kernel(RotateTask task) {
  let_next_kernel_start();
  wait_for_earlier_kernels();
  const int64_t row = blockIdx.x;
  const int64_t head = static_cast<int64_t>(blockIdx.y) * blockDim.y + threadIdx.y;
  const int64_t all = task.heads + 2 * task.kv_heads;
  if (head >= all) return;
  const int dim = static_cast<int>(task.head_dim);
  const int half = dim / 2;
  T* from = static_cast<T*>(task.qkv) + (row * all + head) * dim;
  const T* bias = static_cast<const T*>(task.bias);
  Pairs pairs;
  load_head(from, bias == nullptr ? nullptr : bias + head * dim, half, pairs);
  const bool is_query = head < task.heads;
  const bool is_value = head >= task.heads + task.kv_heads;
  if (!is_value) {
    const void* norm = is_query ? task.q_norm : task.k_norm;
    if (norm != nullptr) normalise_head(static_cast<const T*>(norm), task.eps, half, pairs);
    rotate_head(task.cos_sin + static_cast<int64_t>(task.positions[row]) * dim, half, pairs);
  }
  if (is_query) return store_head(pairs, half, from);
  const int64_t kv_head = (head - task.heads) % task.kv_heads;
  const int64_t slot = task.slots[row];
  const int64_t place =
      ((slot / page_tokens * task.kv_heads + kv_head) * page_tokens + slot % page_tokens) * dim;
  store_head(pairs, half, static_cast<T*>(is_value ? task.values : task.keys) + place);
}

__device__ float gated(float x, float up) {
  return x / (1.0F + expf(-x)) * up;
}

template <class T>
__global__ void gate_kernel(GateTask task) {
  let_next_kernel_start();
  wait_for_earlier_kernels();
  const int64_t i = 4 * (static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x);
  if (i >= task.width) return;
  const int64_t row = blockIdx.y;
  const T* both = static_cast<const T*>(task.both) + row * 2 * task.width;
  float4 x = load_four(both + i);
  float4 up = load_four(both + i + task.width);
  if (task.bias != nullptr) {
    const T* bias = static_cast<const T*>(task.bias);
    const float4 b = load_four(bias + i);
    const float4 c = load_four(bias + i + task.width);
    x = {x.x + b.x, x.y + b.y, x.z + b.z, x.w + b.w};
    up = {up.x + c.x, up.y + c.y, up.z + c.z, up.w + c.w};
  }
  store_four(static_cast<T*>(task.out) + row * task.width + i,
             {gated(x.x, up.x), gated(x.y, up.y), gated(x.z, up.z), gated(x.w, up.w)});
}

template <class From, class To>
__global__ void convert_kernel(ConvertTask task) {
  const From* from = static_cast<const From*>(task.from);
  To* to = static_cast<To*>(task.to);
  const int64_t stride = static_cast<int64_t>(gridDim.x) * blockDim.x;
  uint32_t bad = 0;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < task.count;
       i += stride) {
    const float x = to_float(from[i]);
    bad += isfinite(x) ? 0 : 1;
    to[i] = from_float<To>(x);
  }
  if (bad > 0) atomicAdd(task.bad, bad);
}

}  // namespace

void embed(const EmbedTask& task, Precision precision, StreamHandle stream) {
  with_element(precision, [&]<class T>(T) {
    embed_kernel<T><<<static_cast<unsigned>(task.rows), threads, 0, stream>>>(task);
  });
  check_launch("embed");
}

void rms_norm(const NormTask& task, Precision precision, StreamHandle stream) {
  if (task.width > widest_row || task.width % 4 != 0) {
    throw std::invalid_argument("rms_norm: expected rows of at most " + std::to_string(widest_row) +
                                " numbers, a multiple of 4, got " + std::to_string(task.width));
  }
  // A quad for each thread if that fills whole warps.
  const unsigned block = std::min(1024U, blocks_of(task.width, 4 * warp_size) * warp_size);
  with_element(precision, [&]<class T>(T) {
    launch_early(norm_kernel<T>, {static_cast<unsigned>(task.rows), block, stream}, task,
                 "rms_norm");
  });
}

void rotate_and_store(const RotateTask& task, Precision precision, StreamHandle stream) {
  constexpr unsigned warps = 4;
  const dim3 grid(static_cast<unsigned>(task.rows),
                  blocks_of(task.heads + 2 * task.kv_heads, warps));
  with_element(precision, [&]<class T>(T) {
    launch_early(rotate_kernel<T>, {grid, dim3(warp_size, warps), stream}, task,
                 "rotate_and_store");
  });
}

void gate(const GateTask& task, Precision precision, StreamHandle stream) {
  const dim3 grid(blocks_of(task.width, 4 * threads), static_cast<unsigned>(task.rows));
  with_element(precision, [&]<class T>(T) {
    launch_early(gate_kernel<T>, {grid, threads, stream}, task, "gate");
  });
}

void convert(const ConvertTask& task, Precision precision, StreamHandle stream) {
  const unsigned grid = std::min(blocks_of(task.count, 8 * threads), 132U * 16U);
  with_element(precision, [&]<class To>(To) {
    if (task.type == SourceType::bf16) {
      convert_kernel<Bf16, To><<<grid, threads, 0, stream>>>(task);
    } else {
      convert_kernel<float, To><<<grid, threads, 0, stream>>>(task);
    }
  });
  check_launch("convert");
}

}  // namespace warpsmith::policy::cuda
