// SPDX-License-Identifier: Apache-2.0
#include "runtime/run/owned_folder.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runtime/process/unique_fd.hpp"
#include "runtime/run/durable_file.hpp"

namespace warpsmith {

namespace fs = std::filesystem;

namespace {

constexpr int max_attempts = 16;

/// The lock of `folder`; empty if another process holds it, or if the folder is gone or belongs to
/// another user. Makes the lock file if it is missing, because the owner died or has not locked it
/// yet.
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

struct CloseDir {
  void operator()(DIR* dir) const { (void)::closedir(dir); }
};
using Directory = std::unique_ptr<DIR, CloseDir>;

/// Opens a folder even if its owner has no permissions on it.
Directory open_folder(int parent, const std::string& name) {
  constexpr int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
  UniqueFd fd{::openat(parent, name.c_str(), flags)};
  if (!fd && errno == EACCES && ::fchmodat(parent, name.c_str(), 0700, 0) == 0) {
    fd.reset(::openat(parent, name.c_str(), flags));
  }
  if (!fd) return nullptr;
  (void)::fchmod(fd.get(), 0700);  // otherwise its entries could not be removed
  DIR* dir = ::fdopendir(fd.get());
  if (dir) (void)fd.release();
  return Directory{dir};
}

std::vector<std::string> names_in(DIR* dir) {
  std::vector<std::string> names;
  for (const dirent* entry = ::readdir(dir); entry; entry = ::readdir(dir)) {
    const std::string name = entry->d_name;
    if (name != "." && name != "..") names.push_back(name);
  }
  return names;
}

bool unlink_any(int folder, const std::string& name) {
  return ::unlinkat(folder, name.c_str(), 0) == 0 ||
         ::unlinkat(folder, name.c_str(), AT_REMOVEDIR) == 0;
}

/// Empties the tree beneath `top`. Folders that are not empty are moved up to the top and emptied
/// there, so neither stack, open files nor path length grow with the tree's depth.
class Removal {
 public:
  explicit Removal(int top) : top_(top) {}

  bool empty(std::vector<std::string> waiting) {
    while (!waiting.empty()) {
      const std::string name = waiting.back();
      waiting.pop_back();
      if (unlink_any(top_, name)) continue;
      if (!lift_entries(name, waiting) || !unlink_any(top_, name)) return false;
    }
    return true;
  }

 private:
  /// Removes the entries of folder `name`. Entries that are folders with content move to the top.
  bool lift_entries(const std::string& name, std::vector<std::string>& waiting) {
    const Directory dir = open_folder(top_, name);
    if (!dir) return false;
    const int fd = ::dirfd(dir.get());
    for (const std::string& entry : names_in(dir.get())) {
      if (unlink_any(fd, entry)) continue;
      // Moving a folder rewrites its "..", which needs write permission on the folder itself.
      if (::fchmodat(fd, entry.c_str(), 0700, 0) != 0) return false;
      std::string lifted = lift(fd, entry);
      if (lifted.empty()) return false;
      waiting.push_back(std::move(lifted));
    }
    return true;
  }

  /// Moves an entry to the top under a name that is free there. Empty on failure.
  std::string lift(int folder, const std::string& entry) {
    while (true) {
      std::string lifted = fmt::format(".lifted-{}", ++lifted_);
      if (::renameat2(folder, entry.c_str(), top_, lifted.c_str(), RENAME_NOREPLACE) == 0) {
        return lifted;
      }
      if (errno != EEXIST) return {};  // the name is taken: try the next
    }
  }

  int top_;
  uint64_t lifted_ = 0;
};

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
  for (int attempt = 0; attempt < max_attempts; ++attempt) {
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

Result<OwnedFolder> OwnedFolder::make_temporary() {
  std::error_code error;
  const fs::path base = fs::temp_directory_path(error);
  if (error) return fail_with_errno("no folder for temporary files:", base, error.value());
  sweep(base);
  return make(base);
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

bool remove_tree(const std::filesystem::path& tree) {
  const Directory top = open_folder(AT_FDCWD, tree.string());
  if (!top) return errno == ENOENT;
  Removal removal{::dirfd(top.get())};
  return removal.empty(names_in(top.get())) && ::rmdir(tree.c_str()) == 0;
}

}  // namespace warpsmith
