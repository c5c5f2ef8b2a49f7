// SPDX-License-Identifier: Apache-2.0
// Device memory that processes share by descriptor (CUDA driver API, virtual memory management).
// For sources built with the toolkit only.
#pragma once

#include "runtime/cuda/context.hpp"
#include "runtime/process/unique_fd.hpp"

namespace warpsmith::cuda {

enum class Access : uint8_t { read_only, read_write };

/// One allocation, mapped in this process; freed once no process maps it. Throws DeviceError.
class VirtualMemory {
 public:
  /// Allocates at least `bytes` (rounded up to the device's granularity), writable here. Not
  /// zeroed: the driver clears memory that another process had.
  static VirtualMemory create(const Context& context, uint64_t bytes);
  /// Maps an allocation that another process exported; `bytes` must equal its `bytes()`. The
  /// descriptor stays the caller's. A kernel that writes to read-only memory faults its own
  /// context.
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
