// SPDX-License-Identifier: Apache-2.0
// The processes below one, read from /proc, and those of earlier ones that are left.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

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
  void look(pid_t root);
  /// The remembered processes that still exist, zombies included.
  std::vector<ProcessSeen> left() const;
  size_t seen() const;

 private:
  mutable std::mutex mutex_;
  std::map<pid_t, uint64_t> started_;
};

}  // namespace warpsmith::commands
