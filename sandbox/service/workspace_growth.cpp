// SPDX-License-Identifier: Apache-2.0
#include "sandbox/service/workspace_growth.hpp"

#include <sys/stat.h>

#include <filesystem>
#include <optional>
#include <set>
#include <vector>

#include "sandbox/jail/process_state.hpp"

namespace warpsmith::sandbox {
namespace {

namespace fs = std::filesystem;

bool gone(const std::error_code& error) {
  return error == std::errc::no_such_file_or_directory;
}

/// The status of a path; nothing if it does not exist.
std::optional<struct stat> status_of(const fs::path& path) {
  struct stat status{};
  if (::stat(path.c_str(), &status) != 0) return std::nullopt;
  return status;
}

/// Files that a jail's processes hold open although they are unlinked.
class NamelessFiles {
 public:
  /// Their size on one device.
  uint64_t bytes(pid_t jailed, dev_t device) {
    for (const pid_t pid : processes_beside(jailed)) {
      add_files_of(fs::path("/proc") / std::to_string(pid), device);
    }
    return bytes_;
  }

 private:
  void add_files_of(const fs::path& process, dev_t device) {
    std::error_code error;
    for (fs::directory_iterator fd(process / "fd", error); !error && fd != fs::directory_iterator();
         fd.increment(error)) {
      const auto file = status_of(fd->path());
      if (!file || !S_ISREG(file->st_mode) || file->st_nlink > 0 || file->st_dev != device)
        continue;
      if (seen_.insert(file->st_ino).second) bytes_ += static_cast<uint64_t>(file->st_size);
    }
  }

  std::set<ino_t> seen_;
  uint64_t bytes_ = 0;
};

/// Measures a workspace with one folder open at a time, so a deep tree needs no more descriptors.
class Growth {
 public:
  bool beyond_limits(const std::string& folder, pid_t jailed) {
    if (const auto there = status_of(folder)) bytes_ = NamelessFiles().bytes(jailed, there->st_dev);
    waiting_ = {folder};
    while (!waiting_.empty()) {
      const fs::path next = std::move(waiting_.back());
      waiting_.pop_back();
      if (!add(next)) return true;
    }
    return bytes_ > max_workspace_bytes;
  }

 private:
  /// False if a limit is exceeded or the folder cannot be read.
  bool add(const fs::path& folder) {
    std::error_code error;
    fs::directory_iterator entries(folder, error);
    for (; !error && entries != fs::directory_iterator(); entries.increment(error)) {
      std::error_code unseen;
      const fs::file_type type = entries->symlink_status(unseen).type();
      if (type == fs::file_type::directory) waiting_.push_back(entries->path());
      if (type == fs::file_type::regular) {
        const uint64_t size = entries->file_size(unseen);
        if (!unseen) bytes_ += size;
      }
      if (unseen && !gone(unseen)) return false;
      if (++entries_ > max_workspace_entries || bytes_ > max_workspace_bytes) return false;
    }
    return !error || gone(error);
  }

  std::vector<fs::path> waiting_;
  uint64_t bytes_ = 0;
  uint64_t entries_ = 0;
};

}  // namespace

bool is_beyond_limits(const std::string& workspace, pid_t jailed) {
  return Growth().beyond_limits(workspace, jailed);
}

}  // namespace warpsmith::sandbox
