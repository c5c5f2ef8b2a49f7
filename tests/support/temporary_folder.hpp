// SPDX-License-Identifier: Apache-2.0
// A folder for one test, removed at its end. The next test removes what a killed one left.
#pragma once

#include <unistd.h>

#include <filesystem>
#include <stdexcept>
#include <utility>

#include "runtime/run/owned_folder.hpp"

namespace warpsmith::test_support {

class TemporaryFolder {
 public:
  TemporaryFolder() : TemporaryFolder(std::filesystem::temp_directory_path()) {}
  /// In memory, for tests that write often and do not depend on a disk. Programs may not start
  /// there.
  static TemporaryFolder in_memory() {
    const std::filesystem::path memory = "/dev/shm";
    return ::access(memory.c_str(), W_OK) == 0 ? TemporaryFolder{memory} : TemporaryFolder{};
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  explicit TemporaryFolder(const std::filesystem::path& base) : folder_(made(base)) {}

  static OwnedFolder made(const std::filesystem::path& base) {
    OwnedFolder::sweep(base);
    auto folder = OwnedFolder::make(base);
    if (!folder) throw std::runtime_error(folder.error().message);
    return std::move(*folder);
  }

  OwnedFolder folder_;
  std::filesystem::path path_ = folder_.path();
};

}  // namespace warpsmith::test_support
