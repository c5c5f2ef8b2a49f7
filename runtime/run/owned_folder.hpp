// SPDX-License-Identifier: Apache-2.0
// Temporary folders that do not outlive their owner. The owner holds flock(2) on a file next to the
// folder. The kernel always drops the lock when the process ends, so a folder whose lock is free
// has no owner and may be removed. Also removes trees that untrusted code made.
#pragma once

#include <filesystem>

#include "runtime/process/unique_fd.hpp"
#include "runtime/result.hpp"

namespace warpsmith {

/// The prefix of every owned folder's name.
inline constexpr const char* owned_folder_prefix = "warpsmith-tmp-";

/// An empty folder at BASE/warpsmith-tmp-XXXXXX/files, with its lock at
/// BASE/warpsmith-tmp-XXXXXX/lock. The destructor removes both with their contents; after a kill -9
/// the next `sweep` does.
class OwnedFolder {
 public:
  /// Makes the folder in `base`, which must exist. Errors are those of `fail_with_errno`.
  static Result<OwnedFolder> make(const std::filesystem::path& base);
  /// The same in the system's folder for temporary files, after sweeping it.
  static Result<OwnedFolder> make_temporary();
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

/// Removes a tree that untrusted code may have made: follows no links, does not recurse, and makes
/// folders writable first, so neither depth nor missing permissions stop it. True if it is gone.
bool remove_tree(const std::filesystem::path& tree);

}  // namespace warpsmith
