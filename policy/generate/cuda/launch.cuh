// SPDX-License-Identifier: Apache-2.0
// What all device sources share: the element type, and the check of a call.
#pragma once

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <cstdint>
#include <string>

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

}  // namespace warpsmith::policy::cuda
