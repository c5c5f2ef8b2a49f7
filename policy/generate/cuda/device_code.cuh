// SPDX-License-Identifier: Apache-2.0
// What the engine's own kernels share: elements and reductions.
#pragma once

#include <cstdint>

#include "policy/generate/cuda/launch.cuh"
#include "policy/generate/cuda/precision.hpp"

namespace warpsmith::policy::cuda {

__device__ inline float to_float(float x) {
  return x;
}
__device__ inline float to_float(Bf16 x) {
  return __bfloat162float(x);
}
template <class T>
__device__ T from_float(float x);
template <>
__device__ inline float from_float<float>(float x) {
  return x;
}
template <>
__device__ inline Bf16 from_float<Bf16>(float x) {
  return __float2bfloat16_rn(x);
}

/// Four neighbouring elements, read or written at once. Rows are multiples of four elements.
template <class T>
struct alignas(4 * sizeof(T)) Four {
  T values[4];
};
template <class T>
__device__ float4 load_four(const T* from) {
  const Four<T> four = *reinterpret_cast<const Four<T>*>(from);
  return {to_float(four.values[0]), to_float(four.values[1]), to_float(four.values[2]),
          to_float(four.values[3])};
}
template <class T>
__device__ void store_four(T* to, float4 x) {
  *reinterpret_cast<Four<T>*>(to) = {from_float<T>(x.x), from_float<T>(x.y), from_float<T>(x.z),
                                     from_float<T>(x.w)};
}

constexpr unsigned all_lanes = 0xffffffffU;
constexpr int warp_size = 32;

__device__ inline float warp_sum(float x) {
  for (int step = warp_size / 2; step > 0; step /= 2) x += __shfl_xor_sync(all_lanes, x, step);
  return x;
}

/// The sum over a block of up to 1024 threads, a multiple of 32; every thread gets it.
__device__ inline float block_sum(float x) {
  __shared__ float parts[warp_size];
  const int warp = static_cast<int>(threadIdx.x) / warp_size;
  const int lane = static_cast<int>(threadIdx.x) % warp_size;
  x = warp_sum(x);
  __syncthreads();  // an earlier call may still read `parts`
  if (lane == 0) parts[warp] = x;
  __syncthreads();
  const int warps = static_cast<int>(blockDim.x) / warp_size;
  return warp_sum(lane < warps ? parts[lane] : 0.0F);
}

inline unsigned blocks_of(int64_t count, int64_t per_block) {
  return static_cast<unsigned>((count + per_block - 1) / per_block);
}

/// Calls `work` with a value of the precision's type.
template <class Work>
void with_element(Precision precision, const Work& work) {
  if (precision == Precision::bf16) {
    work(Bf16{});
  } else {
    work(float{});
  }
}

}  // namespace warpsmith::policy::cuda
