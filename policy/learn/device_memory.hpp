// SPDX-License-Identifier: Apache-2.0
// What LibTorch's allocator has handed out on a GPU.
#pragma once

#include <c10/core/Device.h>

#include <cstdint>

namespace warpsmith::policy {

/// The most bytes that tensors took at once since the last reset; 0 on a CPU.
int64_t peak_bytes(at::Device device);
/// Begins a new measurement, from what tensors take now.
void reset_peak_bytes(at::Device device);
/// Gives memory that no tensor takes back to the driver, for other processes.
void release_unused_memory(at::DeviceType type);
/// Gives pinned memory of the host that no tensor takes back to it.
void release_unused_host_memory(at::DeviceType type);

}  // namespace warpsmith::policy
