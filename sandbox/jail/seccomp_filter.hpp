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
/// userfaultfd, personality, clocks), since compilers and Python need threads and processes.
/// Only `worker` may change which cores it runs on.
Result<std::string> seccomp_program(JailKind kind);

/// How the filter is called in a jail's report.
std::string seccomp_name(JailKind kind);

/// For the runner, on itself, before it loads a candidate's code: the run filter without exec,
/// prctl and further filters.
Result<void> enter_candidate_filter();

/// For the launcher, on all its threads, before it loads a candidate's kernels: no new program or
/// process, no sockets, no signals to others, and nothing by which the kernel would go on for it
/// while it is stopped (a signal or a timer for later, polling sets, asynchronous reads), on top of
/// the jail's own filter.
Result<void> enter_launcher_filter();

/// The same as a program, for a process that is none of ours by then: the candidate's own Python
/// (contract `host`) puts it in force before it loads the candidate.
Result<std::string> host_candidate_program();

}  // namespace warpsmith::sandbox
