// SPDX-License-Identifier: Apache-2.0
// One GPU's primary context, and the handles made in it. For sources built with the toolkit only.
// Everything here throws DeviceError if a call of the driver fails.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <type_traits>

#include "runtime/cuda/api.hpp"

namespace warpsmith::cuda {

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

/// Device memory of this process alone. Freed on destruction.
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

/// Host memory that the GPU copies from and to without help of the processor.
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

}  // namespace warpsmith::cuda
