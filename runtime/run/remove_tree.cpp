// SPDX-License-Identifier: Apache-2.0
// Folders that are not empty are moved up to the top and emptied there, so neither stack, open
// files nor path length grow with the tree's depth.
#include "runtime/run/remove_tree.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <string>
#include <vector>

#include "runtime/process/unique_fd.hpp"

namespace warpsmith {
namespace {

struct CloseDir {
  void operator()(DIR* dir) const { (void)::closedir(dir); }
};
using Directory = std::unique_ptr<DIR, CloseDir>;

/// Opens a folder even where its owner has no permissions on it.
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

/// Empties the tree beneath `top`.
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
      std::string lifted = ".lifted-" + std::to_string(++lifted_);
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

bool remove_tree(const std::filesystem::path& tree) {
  const Directory top = open_folder(AT_FDCWD, tree.string());
  if (!top) return errno == ENOENT;
  Removal removal{::dirfd(top.get())};
  return removal.empty(names_in(top.get())) && ::rmdir(tree.c_str()) == 0;
}

}  // namespace warpsmith
