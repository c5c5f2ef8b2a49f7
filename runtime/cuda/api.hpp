// SPDX-License-Identifier: Apache-2.0
// The driver's calls that this program uses, loaded at run time in the versions that the toolkit's
// headers name. Only sources built with the toolkit include this.
#pragma once

#include <cuda.h>

#include "runtime/cuda/driver.hpp"

namespace warpsmith::cuda {

// The headers rename calls, and so the members, to their newest version (cuMemAlloc_v2).
// clang-format off
#define WARPSMITH_CUDA_CALLS(X)                                                                   \
  X(cuDeviceGet) X(cuDeviceGetAttribute) X(cuGetErrorName) X(cuGetErrorString)                    \
  X(cuDevicePrimaryCtxRetain) X(cuDevicePrimaryCtxRelease) X(cuCtxSetCurrent) X(cuCtxSynchronize) \
  X(cuCtxGetCurrent) X(cuCtxGetDevice) X(cuCtxResetPersistingL2Cache)                             \
  X(cuModuleLoadData) X(cuModuleUnload) X(cuModuleGetFunction) X(cuModuleGetGlobal)               \
  X(cuFuncSetAttribute) X(cuFuncGetAttribute) X(cuFuncGetParamInfo)                               \
  X(cuOccupancyMaxActiveBlocksPerMultiprocessor)                                                  \
  X(cuOccupancyMaxActiveClusters) X(cuLaunchKernel) X(cuLaunchKernelEx) X(cuTensorMapEncodeTiled) \
  X(cuMemAlloc) X(cuMemFree) X(cuMemcpyHtoD) X(cuMemcpyDtoH) X(cuMemGetInfo) X(cuMemcpyAsync)     \
  X(cuMemHostAlloc) X(cuMemFreeHost)                                                              \
  X(cuMemcpyHtoDAsync) X(cuMemcpyDtoHAsync) X(cuMemcpyDtoDAsync) X(cuMemsetD8Async)               \
  X(cuMemsetD32Async)                                                                             \
  X(cuMemGetAllocationGranularity) X(cuMemCreate) X(cuMemRelease) X(cuMemAddressReserve)          \
  X(cuMemAddressFree) X(cuMemMap) X(cuMemUnmap) X(cuMemSetAccess)                                 \
  X(cuMemExportToShareableHandle) X(cuMemImportFromShareableHandle)                               \
  X(cuStreamCreate) X(cuStreamDestroy) X(cuStreamSynchronize)                                     \
  X(cuStreamBeginCapture) X(cuStreamEndCapture)                                                   \
  X(cuEventCreate) X(cuEventDestroy) X(cuEventRecord) X(cuEventQuery) X(cuEventSynchronize)       \
  X(cuEventElapsedTime)                                                                           \
  X(cuGraphCreate) X(cuGraphDestroy) X(cuGraphInstantiate) X(cuGraphExecDestroy)                  \
  X(cuGraphLaunch) X(cuGraphUpload)
// clang-format on

struct Api {
#define WARPSMITH_CUDA_MEMBER(call) \
  decltype(&::call) call = nullptr;  // NOLINT(bugprone-macro-parentheses): a declaration
  WARPSMITH_CUDA_CALLS(WARPSMITH_CUDA_MEMBER)
#undef WARPSMITH_CUDA_MEMBER
};

/// All calls, looked up once. `unsupported` if there is no driver, or one older than the toolkit
/// that this was built with; the message names the call and both versions.
Result<const Api*> load_api();

/// Throws DeviceError unless `code` is success. `call` is the name of the call.
void check(const Api& api, CUresult code, const char* call);

}  // namespace warpsmith::cuda
