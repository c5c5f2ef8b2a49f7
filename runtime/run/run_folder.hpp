// SPDX-License-Identifier: Apache-2.0
// A run's folder: who owns it, and where each thing in it lies.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/run/durable_file.hpp"

namespace warpsmith {

/// Names inside a run folder. No file is touched.
struct RunPaths {
  std::filesystem::path folder;

  std::filesystem::path config() const { return folder / "config.toml"; }
  std::filesystem::path stack() const { return folder / "stack.json"; }
  std::filesystem::path database() const { return folder / "run.db"; }
  std::filesystem::path segments() const { return folder / "segments"; }
  std::filesystem::path checkpoints() const { return folder / "checkpoints"; }
  std::filesystem::path trace() const { return folder / "trace.json"; }
  std::filesystem::path log() const { return folder / "log.txt"; }
  std::filesystem::path lock() const { return folder / "lock"; }
};

/// A run folder held by this process until destruction. The lock is the kernel's (of the open file
/// description): it goes with the process however that ends, and programs it starts do not get it.
class RunFolder {
 public:
  /// Makes `root`/`name`; an empty name becomes `<UTC time>-<config_name>`. `already_exists` if a
  /// run is there, `invalid_argument` if the name is no plain folder name.
  static Result<RunFolder> create(const std::filesystem::path& root, std::string_view name,
                                  std::string_view config_name);
  /// For a resume. `not_found` if there is no run, i.e. no file `must_have` in it; `locked` (naming
  /// the owner's process) if another process holds it.
  static Result<RunFolder> open(const std::filesystem::path& folder,
                                std::string_view must_have = "run.db");

  const RunPaths& paths() const { return paths_; }
  std::string name() const { return paths_.folder.filename().string(); }

  /// The effective configuration. A different one that is already there (a resume with other
  /// options) is kept as config.1.toml, config.2.toml …
  Result<void> write_config(std::string_view toml) const;
  /// The same for the stack record: stack.1.json …
  Result<void> write_stack(std::string_view json) const;

 private:
  RunFolder(RunPaths paths, OpenFile lock) : paths_(std::move(paths)), lock_(std::move(lock)) {}
  static Result<RunFolder> take(RunPaths paths);
  Result<void> write_keeping_earlier(const std::filesystem::path& target,
                                     std::string_view content) const;

  RunPaths paths_;
  OpenFile lock_;
};

/// The process that holds the folder, if one does. 0: held, but its id cannot be read.
std::optional<int> owner_of(const RunPaths& paths);

/// Whether there is a run database or, of a supervised run, a configuration alone.
bool holds_run(const RunPaths& paths);

/// Folders below `root` that hold a run, by name. A missing root has none.
Result<std::vector<RunPaths>> list_run_folders(const std::filesystem::path& root);

/// Whether `name` may be a run's name: letters, digits, '.', '_', '-'; no leading '.'; ≤ 100 long.
bool is_run_name(std::string_view name);

}  // namespace warpsmith
