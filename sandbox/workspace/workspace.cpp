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

/// Holds the lock, or is empty if someone else does.
UniqueFd try_lock(const fs::path& folder, int flags) {
  UniqueFd fd{::open((folder / lock_name).c_str(), flags | O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0600)};
  if (fd && ::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) fd.reset();
  return fd;
}

/// A folder without a lock file is one that its owner is just making, or that nobody owns: its age
/// decides.
bool is_abandoned(const fs::path& folder) {
  if (fs::exists(folder / lock_name)) return static_cast<bool>(try_lock(folder, 0));
  std::error_code error;
  const auto age = fs::file_time_type::clock::now() - fs::last_write_time(folder, error);
  return !error && age > std::chrono::minutes(1);
}

size_t sweep(const fs::path& base) {
  size_t swept = 0;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(base, error)) {
    if (!entry.path().filename().string().starts_with(prefix)) continue;
    if (is_abandoned(entry.path()) && remove_tree(entry.path())) ++swept;
  }
  return swept;
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

WorkspaceBase::WorkspaceBase(fs::path folder, UniqueFd lock, size_t swept)
    : folder_(std::move(folder)), lock_(std::move(lock)), swept_(swept) {}

WorkspaceBase::WorkspaceBase(WorkspaceBase&& other) noexcept
    : folder_(std::exchange(other.folder_, {})),
      lock_(std::move(other.lock_)),
      swept_(other.swept_) {}

WorkspaceBase::~WorkspaceBase() {
  if (!folder_.empty()) (void)remove_tree(folder_);
}

Result<WorkspaceBase> WorkspaceBase::open(const fs::path& base) {
  std::error_code error;
  fs::create_directories(base, error);
  if (error) return refuse(base, "cannot make the folder for workspaces", error.value());
  const size_t swept = sweep(base);
  // Another process that sweeps may look between our making a folder and locking it, and take it.
  for (int attempt = 0; attempt < 3; ++attempt) {
    std::string folder = (base / prefix).string() + "XXXXXX";
    if (::mkdtemp(folder.data()) == nullptr) return refuse(base, "cannot make a folder", errno);
    UniqueFd lock = try_lock(folder, O_CREAT);
    if (lock) return WorkspaceBase{folder, std::move(lock), swept};
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
  Workspace workspace{folder, std::move(*files), given};  // removed again if filling fails
  if (auto filled = fill(workspace.files(), folder, given); !filled) {
    return tl::unexpected(filled.error());
  }
  return workspace;
}

}  // namespace warpsmith::sandbox
