// SPDX-License-Identifier: Apache-2.0
// A file mapped into memory; pages are read when they are used.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <string_view>

#include "runtime/result.hpp"

namespace warpsmith::policy {

/// A private mapping: writing to it changes memory, not the file. The last owner unmaps it.
class MappedFile {
 public:
  static Result<std::shared_ptr<MappedFile>> open(const std::filesystem::path& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  char* data() const { return data_; }
  size_t size() const { return size_; }
  std::string_view text() const { return {data_, size_}; }

 private:
  MappedFile(char* data, size_t size) : data_(data), size_(size) {}

  char* data_;
  size_t size_;
};

/// Creates or replaces a file; `disk_full` or `io_failed` names it.
Result<void> write_text_file(const std::filesystem::path& path, std::string_view text);

}  // namespace warpsmith::policy
