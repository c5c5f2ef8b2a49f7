// SPDX-License-Identifier: Apache-2.0
// System call filters as BPF programs, made with libseccomp.
#pragma once

#include <string>

#include "runtime/result.hpp"
#include "sandbox/jail/jail.hpp"

namespace warpsmith::sandbox {

/// The program that bubblewrap loads before it executes the jailed program.
/// `run`: an allow-list without new processes or threads. The others: everything but a deny-list
/// (tracing, other processes' memory, namespaces, mounts, modules, keys, bpf, perf, io_uring,
/// userfaultfd, personality, clocks, sockets of other families than AF_UNIX), since compilers and
/// Python need threads and processes. Only `worker` may change which cores it runs on.
Result<std::string> seccomp_program(JailKind kind);

/// The filter's entry in a jail's report.
std::string seccomp_name(JailKind kind);

/// The runner calls this before it loads a candidate's code: the `run` filter without exec, prctl
/// and further filters.
Result<void> enter_candidate_filter();

/// The launcher calls this before it loads a candidate's kernels. On all threads, and on top of the
/// jail's filter, it refuses new programs and processes, sockets, signals to other processes, and
/// everything that makes the operating system work for a stopped process (delayed signals, timers,
/// polling sets, asynchronous reads).
Result<void> enter_launcher_filter();

/// The same filter as a BPF program: the candidate's own Python process (contract `host`) puts it
/// in force before it loads the candidate.
Result<std::string> host_candidate_program();

}  // namespace warpsmith::sandbox
