// SPDX-License-Identifier: Apache-2.0
// A run's folder: its lock, and the paths of the files in it.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/clock.hpp"
#include "runtime/describe.hpp"
#include "runtime/run/durable_file.hpp"

namespace warpsmith {

/// The paths inside a run folder. Touches no file.
struct RunPaths {
  std::filesystem::path folder;

  std::filesystem::path config() const { return folder / "config.toml"; }
  std::filesystem::path stack() const { return folder / "stack.json"; }
  std::filesystem::path database() const { return folder / "run.db"; }
  std::filesystem::path reserve() const { return folder / "reserve"; }
  std::filesystem::path segments() const { return folder / "segments"; }
  std::filesystem::path submissions() const { return folder / "submissions"; }
  std::filesystem::path checkpoints() const { return folder / "checkpoints"; }
  std::filesystem::path trace() const { return folder / "trace.json"; }
  std::filesystem::path log() const { return folder / "log.txt"; }
  std::filesystem::path lock() const { return folder / "lock"; }
};

/// What a run is doing, or how it ended.
enum class RunState : uint8_t {
  running,      // a process holds the folder
  finished,     // did all that its configuration asks for
  interrupted,  // stopped with its state saved: by Ctrl-C, its time limit or a budget
  failed,       // ended with an error
  killed,       // its process ended at once: by a signal, a second Ctrl-C or a crash
  stopped,      // of a version that recorded no end: any of the above
};
constexpr auto names_of(RunState) {
  return std::to_array<std::string_view>(
      {"running", "finished", "interrupted", "failed", "killed", "stopped"});
}

/// A run folder that this process holds until destruction. The kernel's lock (on the open file
/// description) ends with the process in any case; programs that it starts do not inherit it. The
/// lock's file names the process, the time of the newest start that was not refused, and its state.
class RunFolder {
 public:
  RunFolder(RunFolder&&) noexcept = default;
  RunFolder& operator=(RunFolder&&) noexcept = default;
  ~RunFolder();

  /// Creates `root`/`name`; an empty name becomes `<UTC time>-<config_name>`. `already_exists` if
  /// there is such a run, `invalid_argument` if `name` is not a plain folder name.
  static Result<RunFolder> create(const std::filesystem::path& root, std::string_view name,
                                  std::string_view config_name);
  /// Opens an existing run, to resume it. `not_found` if the folder has no file `required_file`;
  /// `locked` (naming the owner's process) if another process holds it.
  static Result<RunFolder> open(const std::filesystem::path& folder,
                                std::string_view required_file = "run.db");

  const RunPaths& paths() const { return paths_; }
  std::string name() const { return paths_.folder.filename().string(); }

  /// Marks the run as started: it can no longer be refused.
  Result<void> begin() const;
  /// Writes the effective configuration, after `begin`. An earlier one that differs (a resume with
  /// other options) is kept as config.1.toml, config.2.toml …
  Result<void> write_config(std::string_view toml) const;
  /// The same for the stack record: stack.1.json …
  Result<void> write_stack(std::string_view json) const;
  /// Sets the state that the destructor records; `failed` for a run that has begun and sets none.
  void end_as(RunState end) { end_ = end; }

 private:
  RunFolder(RunPaths paths, UniqueFd lock) : paths_(std::move(paths)), lock_(std::move(lock)) {}
  static Result<RunFolder> take(RunPaths paths);
  Result<void> write_keeping_earlier(const std::filesystem::path& target,
                                     std::string_view content) const;

  RunPaths paths_;
  UniqueFd lock_;
  std::string started_ = utc_timestamp();
  std::optional<RunState> end_;
};

/// The process that holds the folder; nullopt if none does, 0 if one does but its id is unreadable.
std::optional<int> owner_of(const RunPaths& paths);

/// The state of a run, and when its newest start was (UTC, as in `utc_timestamp`).
struct RunStatus {
  RunState state = RunState::stopped;
  std::string started;
};
RunStatus status_of(const RunPaths& paths);

/// True if the folder has a run database or, for a supervised run, at least a configuration.
bool holds_run(const RunPaths& paths);

/// The folders below `root` that contain a run, sorted by name; none if there is no `root`.
Result<std::vector<RunPaths>> list_run_folders(const std::filesystem::path& root);

/// True for a valid run name: letters, digits, '.', '_', '-'; no leading '.'; at most 100 long.
bool is_run_name(std::string_view name);

}  // namespace warpsmith
