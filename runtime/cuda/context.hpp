// SPDX-License-Identifier: Apache-2.0
// One GPU's primary context, and the objects made in it: streams, graphs, memory, kernel modules.
// The driver's calls are loaded at run time in the versions that the toolkit's headers name. For
// sources built with the toolkit only. Everything here throws DeviceError if a call of the driver
// fails.
#pragma once

#include <cuda.h>

#include <cstddef>
#include <memory>
#include <optional>
#include <type_traits>

#include "runtime/cuda/driver.hpp"
#include "runtime/process/unique_fd.hpp"

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

/// The driver's calls that this program uses.
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

/// A context that is current on the thread that opened it, for its lifetime. Handles are made and
/// destroyed on that thread.
class Context {
 public:
  /// Opens GPU number `index`. `unsupported` without a usable driver, `not_found` without that GPU.
  static Result<Context> open(int index);
  Context(Context&& other) noexcept;
  Context& operator=(Context&&) = delete;
  ~Context();

  const Api& api() const { return *api_; }
  CUdevice device() const { return device_; }
  int attribute(CUdevice_attribute which) const;
  uint64_t l2_bytes() const;
  struct Memory {
    uint64_t free = 0, total = 0;  // bytes
  };
  Memory memory() const;
  void synchronize() const { check(*api_, api_->cuCtxSynchronize(), "cuCtxSynchronize"); }

 private:
  Context(const Api& api, CUdevice device) : api_(&api), device_(device) {}
  const Api* api_;
  CUdevice device_;
};

/// Destroys a handle by the driver's call and ignores errors: an earlier call has reported them.
template <auto Member>
struct Release {
  const Api* api = nullptr;
  template <class Handle>
  void operator()(Handle handle) const noexcept {
    (void)(api->*Member)(handle);
  }
};
using Stream = std::unique_ptr<std::remove_pointer_t<CUstream>, Release<&Api::cuStreamDestroy>>;
using Event = std::unique_ptr<std::remove_pointer_t<CUevent>, Release<&Api::cuEventDestroy>>;
using Graph = std::unique_ptr<std::remove_pointer_t<CUgraph>, Release<&Api::cuGraphDestroy>>;
using GraphExec =
    std::unique_ptr<std::remove_pointer_t<CUgraphExec>, Release<&Api::cuGraphExecDestroy>>;

/// A stream that does not wait for the default stream.
Stream make_stream(const Api& api);
/// An event that records its time.
Event make_event(const Api& api);

/// Takes ownership of the graph and makes it ready to launch.
GraphExec instantiated(const Api& api, CUgraph graph);
/// Captures the work that `work` puts on `stream` into a graph.
template <class Work>
GraphExec captured(const Api& api, CUstream stream, const Work& work) {
  check(api, api.cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED),
        "cuStreamBeginCapture");
  work();
  CUgraph made = nullptr;
  check(api, api.cuStreamEndCapture(stream, &made), "cuStreamEndCapture");
  return instantiated(api, made);
}

/// Device memory that only this process sees. Freed on destruction.
class DeviceMemory {
 public:
  DeviceMemory(const Api& api, uint64_t bytes);
  DeviceMemory(DeviceMemory&& other) noexcept;
  DeviceMemory& operator=(DeviceMemory&& other) noexcept;
  ~DeviceMemory();

  CUdeviceptr address() const { return address_; }
  uint64_t bytes() const { return bytes_; }

 private:
  const Api* api_;
  CUdeviceptr address_ = 0;
  uint64_t bytes_;
};

/// Pinned host memory, which the GPU reads and writes without the processor.
class PinnedMemory {
 public:
  PinnedMemory(const Api& api, uint64_t bytes);
  PinnedMemory(PinnedMemory&& other) noexcept;
  PinnedMemory& operator=(PinnedMemory&&) = delete;
  ~PinnedMemory();

  std::byte* data() const { return static_cast<std::byte*>(data_); }

 private:
  const Api* api_;
  void* data_ = nullptr;
};

/// A loaded kernel image: cubin, fat binary or PTX.
class KernelModule {
 public:
  KernelModule(const Api& api, const void* image);
  KernelModule(const KernelModule&) = delete;
  KernelModule& operator=(const KernelModule&) = delete;
  ~KernelModule();

  CUfunction function(const char* name) const;
  struct Variable {
    CUdeviceptr address = 0;
    uint64_t bytes = 0;
  };
  /// A device variable; nullopt if the driver does not list one of that name.
  std::optional<Variable> variable(const char* name) const;

 private:
  const Api* api_;
  CUmodule module_ = nullptr;
};

enum class Access : uint8_t { read_only, read_write };

/// Device memory that processes share by descriptor: one allocation, mapped in this process; freed
/// once no process maps it.
class VirtualMemory {
 public:
  /// Allocates at least `bytes` (rounded up to the device's granularity), writable here. Not
  /// zeroed: the driver clears memory that another process had.
  static VirtualMemory create(const Context& context, uint64_t bytes);
  /// Maps an allocation that another process exported; `bytes` must equal its `bytes()`. The caller
  /// keeps the descriptor. A kernel that writes to read-only memory faults its own context.
  static VirtualMemory import(const Context& context, int fd, uint64_t bytes, Access access);

  /// A descriptor for other processes; each may choose how to map the memory.
  UniqueFd export_descriptor() const;
  CUdeviceptr address() const { return address_; }
  uint64_t bytes() const { return bytes_; }

  VirtualMemory(VirtualMemory&& other) noexcept;
  VirtualMemory& operator=(VirtualMemory&&) = delete;
  ~VirtualMemory();

 private:
  VirtualMemory(const Context& context, uint64_t bytes)
      : api_(&context.api()), device_(context.device()), bytes_(bytes) {}
  void map(Access access);

  const Api* api_;
  CUdevice device_;
  uint64_t bytes_;
  CUmemGenericAllocationHandle handle_ = 0;
  bool held_ = false, mapped_ = false;
  CUdeviceptr address_ = 0;
};

}  // namespace warpsmith::cuda
