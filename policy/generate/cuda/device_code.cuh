// SPDX-License-Identifier: Apache-2.0
// Code that the device sources share: checked calls, early launches, elements and reductions.
#pragma once

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <cstdint>
#include <string>

#include "policy/generate/cuda/device_types.hpp"
#include "runtime/cuda/device_error.hpp"

namespace warpsmith::policy::cuda {

using Bf16 = __nv_bfloat16;

constexpr int64_t page_tokens = 16;  // block_tokens of the engine

inline void check_call(cudaError_t code, const char* call) {
  if (code == cudaSuccess) return;
  throw warpsmith::cuda::DeviceError(std::string(call) + ": " + cudaGetErrorString(code),
                                     static_cast<int>(code));
}

inline void check_launch(const char* kernel) {
  check_call(cudaGetLastError(), kernel);
}

// Programmatic dependent launch, from compute capability 9.0 on: a kernel starts while the previous
// one on the stream is still finishing. This hides launches, and lets a product read its weights
// while its input is still being computed.

/// Waits for the kernel before this one on the stream. A kernel started by `launch_early` calls it
/// before it reads data that others wrote or writes data that others read.
__device__ inline void wait_for_earlier_kernels() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  cudaGridDependencySynchronize();
#endif
}
/// Lets the next kernel start as soon as there is room for it.
__device__ inline void let_next_kernel_start() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  cudaTriggerProgrammaticLaunchCompletion();
#endif
}

/// True if the current GPU can start a kernel before the one before it has ended.
inline bool can_launch_early() {
  int device = 0;
  int major = 0;
  check_call(cudaGetDevice(&device), "cudaGetDevice");
  check_call(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device),
             "cudaDeviceGetAttribute");
  return major >= 9;
}

struct LaunchShape {
  dim3 grid, block;
  cudaStream_t stream = nullptr;
};

/// Launches a kernel that may start while the one before it still runs, where the GPU can do that.
template <class Task>
void launch_early(void (*kernel)(Task), const LaunchShape& shape, const Task& task,
                  const char* name) {
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = shape.grid;
  config.blockDim = shape.block;
  config.stream = shape.stream;
  config.attrs = &attribute;
  config.numAttrs = can_launch_early() ? 1 : 0;
  check_call(cudaLaunchKernelEx(&config, kernel, task), name);
}

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
