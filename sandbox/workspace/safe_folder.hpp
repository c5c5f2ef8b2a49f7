// SPDX-License-Identifier: Apache-2.0
// Files beneath one folder that untrusted code also writes to: whatever it planted there (symbolic
// links, pipes, hard links, deep trees), nothing outside is read or written and nothing blocks.
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

/// A path as the agent wrote it → relative to the folder, without "." and doubled slashes.
/// A leading "/workspace/", the folder's name inside the shell jail, is taken off. Rejects "..",
/// other absolute paths, control characters and what is too long or too deep.
Result<std::string> relative_path(std::string_view text);

/// A regular file found by a walk.
struct FileEntry {
  std::string path;  // relative to the folder
  uint64_t bytes = 0;
};

/// How much of a tree a walk may see before it gives up with `capacity`.
struct WalkLimits {
  size_t entries = 4096;
  size_t depth = max_path_depth;
};

/// Resolves every path with openat2(RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS). Paths are such as
/// `relative_path` returns; errors are texts fit for the agent, without host paths.
class SafeFolder {
 public:
  static Result<SafeFolder> open(const std::filesystem::path& folder);

  /// `capacity` where the file is larger than `max_bytes`; `invalid_argument` for what is no
  /// regular file.
  Result<std::string> read(const std::string& path, size_t max_bytes) const;
  /// Replaces the file as a whole (a new file under the old name) and makes missing parents.
  Result<void> write(const std::string& path, std::string_view content) const;
  bool has_file(const std::string& path) const;
  /// Regular files beneath `under` ("" for all), sorted by path; links are not followed.
  Result<std::vector<FileEntry>> walk(const std::string& under, WalkLimits limits) const;

 private:
  explicit SafeFolder(UniqueFd folder) : folder_(std::move(folder)) {}
  Result<UniqueFd> open_beneath(const std::string& path, int flags) const;
  Result<UniqueFd> make_parents(const std::string& path) const;

  UniqueFd folder_;
};

}  // namespace warpsmith::sandbox
