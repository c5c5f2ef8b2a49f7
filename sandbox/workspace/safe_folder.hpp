// SPDX-License-Identifier: Apache-2.0
// Access to files beneath one folder that untrusted code also writes to. Whatever it planted there
// (symbolic links, pipes, hard links, deep trees), no call reads or writes outside, and none
// blocks.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/process/unique_fd.hpp"
#include "runtime/result.hpp"

namespace warpsmith::sandbox {

inline constexpr size_t max_path_bytes = 512;
inline constexpr size_t max_path_depth = 12;

/// Normalises a path from the agent: relative to the folder, without "." and doubled slashes.
/// Strips a leading "/workspace/", the folder's name inside the shell jail. Rejects "..", other
/// absolute paths, control characters, and paths that are too long or too deep.
Result<std::string> relative_path(std::string_view text);

/// A regular file found by a walk.
struct FileEntry {
  std::string path;  // relative to the folder
  uint64_t bytes = 0;
};

/// Limits of a walk; beyond them it fails with `capacity`.
struct WalkLimits {
  size_t entries = 4096;
  size_t depth = max_path_depth;
};

/// Resolves every path with openat2(RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS). Requires paths from
/// `relative_path`. Error texts are fit for the agent and contain no host paths.
class SafeFolder {
 public:
  static Result<SafeFolder> open(const std::filesystem::path& folder);

  /// `capacity` if the file is larger than `max_bytes`; `invalid_argument` unless it is a regular
  /// file.
  Result<std::string> read(const std::string& path, size_t max_bytes) const;
  /// Replaces the whole file by a new one of the same name; makes missing parents.
  Result<void> write(const std::string& path, std::string_view content) const;
  bool has_file(const std::string& path) const;
  /// Regular files beneath `under` ("" for all), sorted by path; does not follow links.
  Result<std::vector<FileEntry>> walk(const std::string& under, WalkLimits limits) const;

 private:
  explicit SafeFolder(UniqueFd folder) : folder_(std::move(folder)) {}
  Result<UniqueFd> open_beneath(const std::string& path, int flags) const;
  Result<UniqueFd> make_parents(const std::string& path) const;

  UniqueFd folder_;
};

}  // namespace warpsmith::sandbox
