// SPDX-License-Identifier: Apache-2.0
// The folders that agents work in: one per trajectory, removed when it ends, or later if the owning
// process died first.
#pragma once

#include <filesystem>
#include <string>

#include "runtime/process/unique_fd.hpp"
#include "runtime/result.hpp"
#include "runtime/submission.hpp"
#include "sandbox/workspace/safe_folder.hpp"

namespace warpsmith::sandbox {

/// One trajectory's folder: the given files (read-only for the tools) and an empty solution/. The
/// destructor removes the folder with everything in it.
class Workspace {
 public:
  Workspace(Workspace&& other) noexcept;
  Workspace& operator=(Workspace&&) = delete;
  ~Workspace();

  const SafeFolder& files() const { return files_; }
  const std::filesystem::path& folder() const { return folder_; }
  /// Whether tools must not change the file because it was given.
  bool is_given(const std::string& path) const { return given_.contains(path); }

 private:
  friend class WorkspaceBase;
  Workspace(std::filesystem::path folder, SafeFolder files, FileSet given);

  std::filesystem::path folder_;  // empty in a moved-from object
  SafeFolder files_;
  FileSet given_;
};

/// The folder of one process's workspaces beneath `base`. It is locked while the process lives, so
/// other processes can detect a stale one.
class WorkspaceBase {
 public:
  /// Makes the folder and removes stale ones beside it.
  static Result<WorkspaceBase> open(const std::filesystem::path& base);
  WorkspaceBase(WorkspaceBase&&) noexcept;
  WorkspaceBase& operator=(WorkspaceBase&&) = delete;
  ~WorkspaceBase();

  const std::filesystem::path& folder() const { return folder_; }
  /// `name` must be new within this base, e.g. "trajectory-17". `given`: SKILL.md, reference.py, …
  Result<Workspace> create(const std::string& name, const FileSet& given) const;

 private:
  WorkspaceBase(std::filesystem::path folder, UniqueFd lock);

  std::filesystem::path folder_;
  UniqueFd lock_;
};

/// Removes a tree of any depth and with any permissions, without following links and without
/// recursion. Returns whether it is gone.
bool remove_tree(const std::filesystem::path& tree);

}  // namespace warpsmith::sandbox
