// SPDX-License-Identifier: Apache-2.0
// The folders that agents work in: one per trajectory, gone when it ends, and swept when their
// owner died without removing them.
#pragma once

#include <filesystem>
#include <string>

#include "runtime/process/unique_fd.hpp"
#include "runtime/result.hpp"
#include "runtime/submission.hpp"
#include "sandbox/workspace/safe_folder.hpp"

namespace warpsmith::sandbox {

/// One trajectory's folder: the given files (read-only for the tools) and an empty solution/.
/// Move-only; the destructor removes the folder, whatever untrusted code left in it.
class Workspace {
 public:
  Workspace(Workspace&& other) noexcept;
  Workspace& operator=(Workspace&&) = delete;
  ~Workspace();

  const SafeFolder& files() const { return files_; }
  const std::filesystem::path& folder() const { return folder_; }
  /// Was the file given, so that tools must not change it?
  bool is_given(const std::string& path) const { return given_.contains(path); }

 private:
  friend class WorkspaceBase;
  Workspace(std::filesystem::path folder, SafeFolder files, FileSet given);

  std::filesystem::path folder_;  // empty once moved from
  SafeFolder files_;
  FileSet given_;
};

/// The place of one process's workspaces: a locked folder beneath `base`. The lock ends with the
/// process, which is how another one knows what is stale.
class WorkspaceBase {
 public:
  /// Makes the folder and sweeps what dead processes left beside it.
  static Result<WorkspaceBase> open(const std::filesystem::path& base);
  WorkspaceBase(WorkspaceBase&&) noexcept;
  WorkspaceBase& operator=(WorkspaceBase&&) = delete;
  ~WorkspaceBase();

  const std::filesystem::path& folder() const { return folder_; }
  /// `name` is new within this base, e.g. "trajectory-17". `given`: SKILL.md, reference.py, …
  Result<Workspace> create(const std::string& name, const FileSet& given) const;

 private:
  WorkspaceBase(std::filesystem::path folder, UniqueFd lock);

  std::filesystem::path folder_;
  UniqueFd lock_;
};

/// Removes a tree without following links and without recursion: no depth, no missing permission
/// stops it. True when it is gone.
bool remove_tree(const std::filesystem::path& tree);

}  // namespace warpsmith::sandbox
