// SPDX-License-Identifier: Apache-2.0
// The folders that agents work in: one per trajectory, removed when it ends.
#pragma once

#include <filesystem>
#include <string>

#include "runtime/result.hpp"
#include "runtime/run/owned_folder.hpp"
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

/// The place of one process's workspaces: an owned folder in `base`.
class WorkspaceBase {
 public:
  /// Makes `base` if it is missing, removes what killed processes left in it, and makes the folder.
  static Result<WorkspaceBase> open(const std::filesystem::path& base);

  /// `name` must be new within this base, e.g. "trajectory-17". `given`: SKILL.md, reference.py, …
  Result<Workspace> create(const std::string& name, const FileSet& given) const;

 private:
  explicit WorkspaceBase(OwnedFolder folder) : folder_(std::move(folder)) {}

  OwnedFolder folder_;
};

}  // namespace warpsmith::sandbox
