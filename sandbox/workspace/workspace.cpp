// SPDX-License-Identifier: Apache-2.0
#include "sandbox/workspace/workspace.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "runtime/log.hpp"

namespace warpsmith::sandbox {
namespace {

namespace fs = std::filesystem;

constexpr const char* prefix = "warpsmith-workspaces-";
constexpr const char* lock_name = ".lock";

tl::unexpected<Error> refuse(const fs::path& path, const std::string& what, int error) {
  const ErrorCode code = error == ENOSPC ? ErrorCode::disk_full : ErrorCode::io_failed;
  return fail(code, path.string() + ": " + what + ": " + std::strerror(error));
}

/// Returns the locked file; empty if another process holds the lock or has just removed the folder.
UniqueFd try_lock(const fs::path& folder, int flags) {
  UniqueFd fd{::open((folder / lock_name).c_str(), flags | O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0600)};
  struct stat status{};
  const bool held = fd && ::flock(fd.get(), LOCK_EX | LOCK_NB) == 0 &&
                    ::fstat(fd.get(), &status) == 0 && status.st_nlink > 0;
  if (!held) fd.reset();
  return fd;
}

bool is_old(const fs::path& folder) {
  std::error_code error;
  const auto age = fs::file_time_type::clock::now() - fs::last_write_time(folder, error);
  return !error && age > std::chrono::minutes(1);
}

/// Removes the folder if its owner is gone. A folder without a lock file may be one that its owner
/// is just making, so its age decides.
void sweep(const fs::path& folder) {
  std::error_code error;
  const bool has_lock = fs::exists(folder / lock_name, error);
  if (error) return;  // unreadable: skip it
  // Hold the lock until the folder is gone, so that no other process takes it meanwhile.
  const UniqueFd lock = has_lock ? try_lock(folder, 0) : UniqueFd{};
  if (has_lock ? static_cast<bool>(lock) : is_old(folder)) (void)remove_tree(folder);
}

void sweep_all(const fs::path& base) {
  std::error_code error;
  for (fs::directory_iterator entry(base, error); !error && entry != fs::directory_iterator();
       entry.increment(error)) {
    if (entry->path().filename().string().starts_with(prefix)) sweep(entry->path());
  }
}

Result<void> fill(const SafeFolder& files, const fs::path& folder, const FileSet& given) {
  for (const auto& [name, content] : given) {
    if (auto written = files.write(name, content); !written) return written;
    if (::chmod((folder / name).c_str(), 0444) != 0) return refuse(folder / name, "chmod", errno);
  }
  const fs::path solution = folder / "solution";
  if (::mkdir(solution.c_str(), 0755) != 0) return refuse(solution, "cannot make it", errno);
  return {};
}

}  // namespace

Workspace::Workspace(fs::path folder, SafeFolder files, FileSet given)
    : folder_(std::move(folder)), files_(std::move(files)), given_(std::move(given)) {}

Workspace::Workspace(Workspace&& other) noexcept
    : folder_(std::exchange(other.folder_, {})),
      files_(std::move(other.files_)),
      given_(std::move(other.given_)) {}

Workspace::~Workspace() {
  if (folder_.empty()) return;
  if (!remove_tree(folder_)) log::warn("workspace not removed: " + folder_.string());
}

WorkspaceBase::WorkspaceBase(fs::path folder, UniqueFd lock)
    : folder_(std::move(folder)), lock_(std::move(lock)) {}

WorkspaceBase::WorkspaceBase(WorkspaceBase&& other) noexcept
    : folder_(std::exchange(other.folder_, {})), lock_(std::move(other.lock_)) {}

WorkspaceBase::~WorkspaceBase() {
  if (!folder_.empty()) (void)remove_tree(folder_);
}

Result<WorkspaceBase> WorkspaceBase::open(const fs::path& base) {
  std::error_code error;
  fs::create_directories(base, error);
  if (error) return refuse(base, "cannot make the folder for workspaces", error.value());
  sweep_all(base);
  // A sweep by another process may remove the folder between its creation and its lock: retry.
  for (int attempt = 0; attempt < 3; ++attempt) {
    std::string folder = (base / prefix).string() + "XXXXXX";
    if (::mkdtemp(folder.data()) == nullptr) return refuse(base, "cannot make a folder", errno);
    UniqueFd lock = try_lock(folder, O_CREAT);
    if (lock) return WorkspaceBase{folder, std::move(lock)};
  }
  return fail(ErrorCode::locked, base.string() + ": cannot lock a folder for workspaces");
}

Result<Workspace> WorkspaceBase::create(const std::string& name, const FileSet& given) const {
  const fs::path folder = folder_ / name;
  if (::mkdir(folder.c_str(), 0755) != 0) {
    if (errno == EEXIST) return fail(ErrorCode::already_exists, folder.string() + " exists");
    return refuse(folder, "cannot make the workspace", errno);
  }
  auto files = SafeFolder::open(folder);
  if (!files) return tl::unexpected(files.error());
  Workspace workspace{folder, std::move(*files), given};  // removed if filling fails
  if (auto filled = fill(workspace.files(), folder, given); !filled) {
    return tl::unexpected(filled.error());
  }
  return workspace;
}

}  // namespace warpsmith::sandbox
