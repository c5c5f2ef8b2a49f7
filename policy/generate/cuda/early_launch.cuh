// SPDX-License-Identifier: Apache-2.0
// Kernels that start while the one before them on the stream still ends: programmatic dependent
// launch, from compute capability 9.0 on. It hides launches, and lets a product read its weights
// while its input is still computed.
#pragma once

#include "policy/generate/cuda/launch.cuh"

namespace warpsmith::policy::cuda {

/// Waits for the kernel before this one on the stream. A kernel that `launch_early` starts calls it
/// before it reads what others wrote or writes what others read.
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

}  // namespace warpsmith::policy::cuda
