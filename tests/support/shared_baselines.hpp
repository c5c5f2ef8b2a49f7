// SPDX-License-Identifier: Apache-2.0
// What torch.compile wrote for one test program serves the next.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

namespace warpsmith::test_support {

/// Links the folder of torch.compile in a reference worker's cache to the one that ctest names in
/// WARPSMITH_TEST_BASELINES, and returns the cache. Without that variable the cache has its own.
inline std::string with_shared_baselines(const std::filesystem::path& cache) {
  const char* shared = std::getenv("WARPSMITH_TEST_BASELINES");  // NOLINT(concurrency-mt-unsafe)
  const auto own = cache / "inductor";
  if (shared != nullptr && !std::filesystem::exists(own)) {
    std::filesystem::create_directories(shared);
    std::filesystem::create_directories(cache);
    std::filesystem::create_directory_symlink(shared, own);
  }
  return cache.string();
}

}  // namespace warpsmith::test_support
