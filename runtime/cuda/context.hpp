// SPDX-License-Identifier: Apache-2.0
// One GPU's primary context, and the handles made in it. Sources built with the toolkit only.
// Everything here throws DeviceError when the device refuses.
#pragma once

#include <memory>
#include <optional>
#include <type_traits>

#include "runtime/cuda/api.hpp"

namespace warpsmith::cuda {

/// Current on the thread that made it while it lives; made where all else is made and destroyed.
class Context {
 public:
  /// `unsupported` without a usable driver; `not_found` without GPU number `index`.
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

/// Destroys by the driver's call; an error then says nothing new.
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

/// A stream that does not wait for the default one.
Stream make_stream(const Api& api);
/// With timing.
Event make_event(const Api& api);

/// Takes the graph and makes it ready to be launched.
GraphExec instantiated(const Api& api, CUgraph graph);
/// A graph of what `work` gives to `stream`.
template <class Work>
GraphExec captured(const Api& api, CUstream stream, const Work& work) {
  check(api, api.cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED),
        "cuStreamBeginCapture");
  work();
  CUgraph made = nullptr;
  check(api, api.cuStreamEndCapture(stream, &made), "cuStreamEndCapture");
  return instantiated(api, made);
}

/// Device memory of this process alone.
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

/// A loaded image: cubin, fat binary or PTX.
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
  /// A device variable; nothing if the driver does not show one of that name.
  std::optional<Variable> variable(const char* name) const;

 private:
  const Api* api_;
  CUmodule module_ = nullptr;
};

}  // namespace warpsmith::cuda
