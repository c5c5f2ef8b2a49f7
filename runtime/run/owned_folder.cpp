// SPDX-License-Identifier: Apache-2.0
#include "runtime/run/owned_folder.hpp"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <cerrno>
#include <string>
#include <utility>

#include "runtime/run/durable_file.hpp"
#include "runtime/run/remove_tree.hpp"

namespace warpsmith {
namespace {

namespace fs = std::filesystem;

constexpr int most_attempts = 16;

/// The lock of `folder`, or empty: another process holds it, the folder is gone, or it is another
/// user's. Makes the lock file if there is none: its owner died, or has not locked it yet.
UniqueFd try_lock(const fs::path& folder) {
  const UniqueFd at{::open(folder.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)};
  if (!at) return {};
  UniqueFd lock{::openat(at.get(), "lock", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600)};
  struct stat status{};
  const bool held = lock && ::flock(lock.get(), LOCK_EX | LOCK_NB) == 0 &&
                    ::fstat(lock.get(), &status) == 0 && status.st_nlink > 0;
  if (!held) lock.reset();
  return lock;
}

}  // namespace

OwnedFolder::OwnedFolder(fs::path whole, UniqueFd lock)
    : whole_(std::move(whole)), lock_(std::move(lock)) {}

OwnedFolder::OwnedFolder(OwnedFolder&& other) noexcept
    : whole_(std::exchange(other.whole_, {})), lock_(std::move(other.lock_)) {}

OwnedFolder::~OwnedFolder() {
  if (!whole_.empty()) (void)remove_tree(whole_);
}

Result<OwnedFolder> OwnedFolder::make(const fs::path& base) {
  // Another process's sweep may take a folder before it is locked.
  for (int attempt = 0; attempt < most_attempts; ++attempt) {
    std::string folder = (base / owned_folder_prefix).string() + "XXXXXX";
    if (::mkdtemp(folder.data()) == nullptr) {
      return fail_with_errno("cannot make a temporary folder in", base, errno);
    }
    UniqueFd lock = try_lock(folder);
    if (!lock) continue;
    OwnedFolder made{folder, std::move(lock)};
    if (::mkdir(made.path().c_str(), 0700) == 0) return made;
    return fail_with_errno("cannot make", made.path(), errno);
  }
  return fail(ErrorCode::locked, "cannot lock a temporary folder in " + base.string());
}

void OwnedFolder::sweep(const fs::path& base) {
  std::error_code error;
  for (fs::directory_iterator entry(base, error), end; !error && entry != end;
       entry.increment(error)) {
    if (!entry->path().filename().string().starts_with(owned_folder_prefix)) continue;
    // Held until the folder is gone, so that no two sweeps remove it.
    if (const UniqueFd lock = try_lock(entry->path())) (void)remove_tree(entry->path());
  }
}

}  // namespace warpsmith
