// SPDX-License-Identifier: Apache-2.0
// The processes of a sandbox service: finds them in /proc, kills one, and finds what they left
// after the service ended (processes, control groups, unfinished files).
#pragma once

#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "commands/bench/faults.hpp"
#include "runtime/clock.hpp"

namespace warpsmith::commands {

struct ProcessSeen {
  pid_t pid = 0, parent = 0;
  char state = '?';      // R, S, D, T, Z, …
  uint64_t started = 0;  // ticks since boot: distinguishes processes that reuse a number
  std::string name;      // cut by the kernel
  std::vector<std::string> argv;
};

/// Parses the text of /proc/PID/stat; `argv` stays empty.
std::optional<ProcessSeen> parse_process(std::string_view stat);

/// The descendants of `root` among `all`, without `root` itself. Pure.
std::vector<ProcessSeen> below(pid_t root, const std::vector<ProcessSeen>& all);

/// All descendants of `root` now.
std::vector<ProcessSeen> processes_below(pid_t root);

/// Remembers descendants, to find them again after their parents are gone. Thread-safe.
class ProcessCensus {
 public:
  /// Adds the present descendants of `root`.
  void add_descendants(pid_t root);
  /// The remembered processes that still exist, zombies included.
  std::vector<ProcessSeen> remaining() const;
  size_t seen() const;

 private:
  mutable std::mutex mutex_;
  std::map<pid_t, uint64_t> started_;
};

/// Finds the process among the descendants of a service: a jailed one is its grandchild. Pure.
std::optional<pid_t> find_process(const std::vector<ProcessSeen>& below, SlotProcess wanted,
                                  pid_t service);

/// Kills a process of a service as soon as it exists, on its own thread.
class ProcessKiller {
 public:
  /// Starts looking after `delay`. Adds the processes that become orphans to `census`, which
  /// outlives this object.
  ProcessKiller(pid_t service, SlotProcess target, std::chrono::microseconds delay,
                ProcessCensus& census);
  /// Destroy it after the evaluation.
  ~ProcessKiller() { (void)finish(); }
  ProcessKiller(const ProcessKiller&) = delete;
  ProcessKiller& operator=(const ProcessKiller&) = delete;

  /// Stops looking; returns true if the process was killed.
  bool finish();

 private:
  void run(std::chrono::microseconds delay);
  bool kill_if_present();

  pid_t service_;
  SlotProcess target_;
  ProcessCensus& census_;
  std::atomic<bool> over_{false}, killed_{false};
  std::thread thread_;
};

/// Finds what services left. Make it before anything starts: it ignores what exists by then.
class LeftoverCheck {
 public:
  /// Counts unfinished files below `cache` and all files in `temporary`.
  LeftoverCheck(std::filesystem::path cache, std::filesystem::path temporary);

  /// Returns what is left at the deadline; returns earlier if nothing is.
  Leftovers find(const ProcessCensus& census, Deadline deadline) const;

 private:
  std::set<std::string> files() const;
  Leftovers now(const ProcessCensus& census) const;

  std::filesystem::path cache_, temporary_;
  std::set<std::string> files_before_, groups_before_;
};

}  // namespace warpsmith::commands
