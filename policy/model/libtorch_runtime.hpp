// SPDX-License-Identifier: Apache-2.0
// State of LibTorch's runtime: its threads, its allocators, and work that is still queued.
#pragma once

#include <c10/core/Device.h>

#include <cstdint>

namespace warpsmith::policy {

/// Sets how many threads LibTorch uses for the work of the calling thread, at least 1. A plain
/// `at::set_num_threads` lasts only until the thread's first parallel work, which uses the number
/// that any thread set last.
void use_threads(int count);

/// The most bytes that tensors used at once since the last reset; 0 on a CPU.
int64_t peak_bytes(at::Device device);
/// Begins a new measurement, starting from the present use.
void reset_peak_bytes(at::Device device);
/// Returns memory that no tensor uses to the driver, for other processes.
void release_unused_memory(at::DeviceType type);
/// Returns pinned host memory that no tensor uses to the host.
void release_unused_host_memory(at::DeviceType type);

/// Waits for all work that this thread has queued on `device`.
void wait_for(at::Device device);

}  // namespace warpsmith::policy
