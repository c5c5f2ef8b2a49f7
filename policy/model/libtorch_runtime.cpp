// SPDX-License-Identifier: Apache-2.0
#include "policy/model/libtorch_runtime.hpp"

#include <ATen/Parallel.h>
#include <ATen/core/CachingHostAllocator.h>
#include <ATen/ops/zeros.h>
#include <c10/core/CachingDeviceAllocator.h>

namespace warpsmith::policy {

void use_threads(int count) {
  (void)at::get_num_threads();  // initialises what the first parallel work would
  at::set_num_threads(count);
}

int64_t peak_bytes(at::Device device) {
  if (!device.is_cuda()) return 0;
  constexpr auto all = static_cast<size_t>(c10::CachingAllocator::StatType::AGGREGATE);
  return c10::getDeviceAllocator(device.type())
      ->getDeviceStats(device.index())
      .allocated_bytes[all]
      .peak;
}

void reset_peak_bytes(at::Device device) {
  if (device.is_cuda()) c10::getDeviceAllocator(device.type())->resetPeakStats(device.index());
}

void release_unused_memory(at::DeviceType type) {
  if (type == at::kCUDA) c10::getDeviceAllocator(type)->emptyCache();
}

void release_unused_host_memory(at::DeviceType type) {
  if (type == at::kCUDA) at::getHostAllocator(type)->empty_cache();
}

void wait_for(at::Device device) {
  if (device.is_cuda()) (void)at::zeros({1}, at::TensorOptions(device)).cpu();
}

}  // namespace warpsmith::policy
