// SPDX-License-Identifier: Apache-2.0
// Which processes lie below one, as /proc shows them, and what is left of those that once did.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace warpsmith::actors {

struct ProcessSeen {
  pid_t pid = 0, parent = 0;
  char state = '?';      // R, S, D, T, Z, …
  uint64_t started = 0;  // ticks since the machine started: tells a number's users apart
  std::string name;      // as the kernel cuts it
  std::vector<std::string> argv;
};

/// From the text of /proc/PID/stat; `argv` stays empty.
std::optional<ProcessSeen> parse_process(std::string_view stat);

/// Of `all`, what descends from `root`, without it. Pure.
std::vector<ProcessSeen> below(pid_t root, const std::vector<ProcessSeen>& all);

/// All descendants of `root` now.
std::vector<ProcessSeen> processes_below(pid_t root);

/// Remembers descendants, so that they are found again when their parents are gone. Thread-safe.
class ProcessCensus {
 public:
  /// Adds what descends from `root` now.
  void look(pid_t root);
  /// Those of all that were seen that still are there, zombies included.
  std::vector<ProcessSeen> left() const;
  size_t seen() const;

 private:
  mutable std::mutex mutex_;
  std::map<pid_t, uint64_t> started_;
};

}  // namespace warpsmith::actors
