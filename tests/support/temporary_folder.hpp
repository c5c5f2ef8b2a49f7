// SPDX-License-Identifier: Apache-2.0
// A folder for one test, removed at its end.
#pragma once

#include <stdlib.h>

#include <filesystem>
#include <stdexcept>
#include <string>
#include <system_error>

namespace warpsmith::test_support {

class TemporaryFolder {
 public:
  TemporaryFolder() : TemporaryFolder(std::filesystem::temp_directory_path()) {}
  /// In memory, for tests that sync often and do not depend on a disk.
  static TemporaryFolder in_memory() {
    return std::filesystem::is_directory("/dev/shm") ? TemporaryFolder{"/dev/shm"}
                                                     : TemporaryFolder{};
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  const std::filesystem::path& path() const { return path_; }

 private:
  explicit TemporaryFolder(const std::filesystem::path& base) {
    std::string pattern = (base / "warpsmith-test-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("mkdtemp failed");
    path_ = pattern;
  }

  std::filesystem::path path_;
};

}  // namespace warpsmith::test_support
