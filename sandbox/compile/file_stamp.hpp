// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>

namespace warpsmith::sandbox {

/// A line that changes with the file: path, time and size. For a folder: path and time. The path
/// alone if it does not exist.
inline std::string file_stamp(const std::filesystem::path& path) {
  std::error_code none;
  const auto time = std::filesystem::last_write_time(path, none).time_since_epoch().count();
  if (none) return path.string() + '\n';
  const bool file = std::filesystem::is_regular_file(path, none);
  const uintmax_t bytes = file ? std::filesystem::file_size(path, none) : 0;
  return path.string() + ' ' + std::to_string(time) + ' ' + std::to_string(bytes) + '\n';
}

}  // namespace warpsmith::sandbox
