// SPDX-License-Identifier: Apache-2.0
// Temporary folders that do not outlive their owner. The owner holds flock(2) on a file beside the
// folder. The kernel drops the lock when the process ends, however it ends, so a folder whose lock
// is free has no owner and may be removed.
#pragma once

#include <filesystem>

#include "runtime/process/unique_fd.hpp"
#include "runtime/result.hpp"

namespace warpsmith {

/// The first letters of every owned folder's name in its base.
inline constexpr const char* owned_folder_prefix = "warpsmith-tmp-";

/// An empty folder at BASE/warpsmith-tmp-XXXXXX/files, with its lock at
/// BASE/warpsmith-tmp-XXXXXX/lock. The destructor removes both with all that is in them; after a
/// kill -9 the next `sweep` does.
class OwnedFolder {
 public:
  /// Makes the folder in `base`, which must exist. Errors as of `fail_with_errno`.
  static Result<OwnedFolder> make(const std::filesystem::path& base);
  /// Removes the owned folders in `base` that have no owner, and nothing else.
  static void sweep(const std::filesystem::path& base);

  OwnedFolder(OwnedFolder&& other) noexcept;
  OwnedFolder& operator=(OwnedFolder&&) = delete;
  ~OwnedFolder();

  std::filesystem::path path() const { return whole_ / "files"; }

 private:
  OwnedFolder(std::filesystem::path whole, UniqueFd lock);

  std::filesystem::path whole_;  // with the lock; empty once moved from
  UniqueFd lock_;
};

}  // namespace warpsmith
