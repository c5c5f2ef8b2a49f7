// SPDX-License-Identifier: Apache-2.0
#include "sandbox/workspace/workspace.hpp"

#include <sys/stat.h>

#include <cerrno>
#include <cstring>

#include "runtime/log.hpp"
#include "runtime/run/owned_folder.hpp"

namespace warpsmith::sandbox {
namespace {

namespace fs = std::filesystem;

tl::unexpected<Error> refuse(const fs::path& path, const std::string& what, int error) {
  const ErrorCode code = error == ENOSPC ? ErrorCode::disk_full : ErrorCode::io_failed;
  return fail(code, path.string() + ": " + what + ": " + std::strerror(error));
}

Result<void> fill(const SafeFolder& files, const fs::path& folder, const FileSet& given) {
  for (const auto& [name, content] : given) {
    TRY_VOID(files.write(name, content));
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

Result<WorkspaceBase> WorkspaceBase::open(const fs::path& base) {
  std::error_code error;
  fs::create_directories(base, error);
  if (error) return refuse(base, "cannot make the folder for workspaces", error.value());
  OwnedFolder::sweep(base);
  TRY(auto folder, OwnedFolder::make(base));
  return WorkspaceBase{std::move(folder)};
}

Result<Workspace> WorkspaceBase::create(const std::string& name, const FileSet& given) const {
  const fs::path folder = folder_.path() / name;
  if (::mkdir(folder.c_str(), 0755) != 0) {
    if (errno == EEXIST) return fail(ErrorCode::already_exists, folder.string() + " exists");
    return refuse(folder, "cannot make the workspace", errno);
  }
  TRY(auto files, SafeFolder::open(folder));
  Workspace workspace{folder, std::move(files), given};  // removed if filling fails
  TRY_VOID(fill(workspace.files(), folder, given));
  return workspace;
}

}  // namespace warpsmith::sandbox
