// SPDX-License-Identifier: Apache-2.0
// What /proc says about a process. The parsers are pure.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/result.hpp"

namespace warpsmith::sandbox {

struct TaskState {
  char letter = '?';    // R, S, D, T (stopped), t (traced), Z, X, …
  int64_t threads = 0;  // of the whole process
};

/// From the text of /proc/PID/stat. The name in it may hold anything, parentheses included.
std::optional<TaskState> parse_stat(std::string_view text);

struct ConfinementState {
  bool no_new_privs = false;
  bool no_capabilities = false;
  int seccomp_filters = 0;
};

/// From the text of /proc/PID/status.
ConfinementState parse_status(std::string_view text);

/// True if every task of the process is stopped (or dead). `stat_fd`: its open /proc/PID/stat.
bool is_stopped(pid_t pid, int stat_fd);

/// Lets the process map `more` bytes beyond what it has mapped now: an allocation beyond that fails
/// at once, where a cgroup's limit is felt only once so much was touched.
Result<void> limit_addresses(pid_t pid, uint64_t more);

/// Kinds of namespace in which the process differs from us, e.g. {"user", "pid"}.
std::vector<std::string> foreign_namespaces(pid_t pid);

}  // namespace warpsmith::sandbox
