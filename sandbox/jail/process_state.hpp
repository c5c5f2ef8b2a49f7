// SPDX-License-Identifier: Apache-2.0
// The state of a process as /proc shows it. The parsers are pure.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/clock.hpp"
#include "runtime/result.hpp"

namespace warpsmith::sandbox {

struct TaskState {
  char letter = '?';    // R, S, D, T (stopped), t (traced), Z, X, …
  pid_t parent = 0;     // of the whole process
  int64_t threads = 0;  // of the whole process
};

/// Parses the text of /proc/PID/stat. The process's name in it may hold parentheses.
std::optional<TaskState> parse_stat(std::string_view text);

struct ConfinementState {
  bool no_new_privs = false;
  bool no_capabilities = false;
  int seccomp_filters = 0;
};

/// Parses the text of /proc/PID/status.
ConfinementState parse_status(std::string_view text);

/// True if every task of the process is stopped (or dead). `stat_fd`: its open /proc/PID/stat.
bool is_stopped(pid_t pid, int stat_fd);

/// The processes whose parent is `pid`, including those in their own namespaces.
std::vector<pid_t> children_of(pid_t pid);

/// The processes in the PID namespace of `pid`, itself included, unless that is this process's own;
/// none if it has ended.
std::vector<pid_t> processes_in_namespace_of(pid_t pid);
/// Stops those, and what they start meanwhile; `timeout` at the deadline.
Result<void> stop_processes(pid_t in_namespace_of, Deadline deadline);
void resume_processes(pid_t in_namespace_of);

/// Limits the process to `more` bytes of addresses beyond those that it has mapped. A larger
/// allocation then fails at once, whereas a cgroup kills the process when it touches the memory.
Result<void> limit_addresses(pid_t pid, uint64_t more);

/// The namespaces that the process does not share with us, e.g. {"user", "pid"}.
std::vector<std::string> foreign_namespaces(pid_t pid);

}  // namespace warpsmith::sandbox
