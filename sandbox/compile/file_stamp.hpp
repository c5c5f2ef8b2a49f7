// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>

namespace warpsmith::sandbox {

/// A line that changes when the file does: its place, time and size; the place alone where there is
/// none. Of a folder the place and time.
inline std::string file_stamp(const std::filesystem::path& path) {
  std::error_code none;
  const auto time = std::filesystem::last_write_time(path, none).time_since_epoch().count();
  if (none) return path.string() + '\n';
  const bool file = std::filesystem::is_regular_file(path, none);
  const uintmax_t bytes = file ? std::filesystem::file_size(path, none) : 0;
  return path.string() + ' ' + std::to_string(time) + ' ' + std::to_string(bytes) + '\n';
}

}  // namespace warpsmith::sandbox
