// SPDX-License-Identifier: Apache-2.0
#include "actors/run/gpu_sizes.hpp"

#include <cstdio>

#include "runtime/cuda/driver.hpp"

namespace warpsmith::actors {

std::string gib(int64_t bytes) {
  char text[32];
  (void)std::snprintf(text, sizeof text, "%.1f GiB", static_cast<double>(bytes) / (1 << 30));
  return text;
}

Result<std::vector<int64_t>> gpu_sizes() {
  const auto driver = cuda::Driver::load();
  if (!driver) return tl::unexpected(driver.error());
  const auto gpus = driver->gpus();
  if (!gpus) return tl::unexpected(gpus.error());
  std::vector<int64_t> sizes;
  for (const cuda::Gpu& gpu : *gpus) sizes.push_back(gpu.memory_bytes);
  return sizes;
}

}  // namespace warpsmith::actors
