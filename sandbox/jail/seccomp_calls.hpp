// SPDX-License-Identifier: Apache-2.0
// The system calls that each filter allows or refuses, and why. seccomp_filter.cpp makes the
// filters.
#pragma once

#include <seccomp.h>

#include <array>
#include <cstdint>

namespace warpsmith::sandbox {

// For code that only computes: memory, its own signals, clocks, reading libraries.
inline constexpr std::array candidate_calls{
    SCMP_SYS(read),
    SCMP_SYS(pread64),
    SCMP_SYS(write),
    SCMP_SYS(writev),
    SCMP_SYS(close),
    SCMP_SYS(fstat),
    SCMP_SYS(newfstatat),
    SCMP_SYS(lseek),
    SCMP_SYS(access),
    SCMP_SYS(mmap),
    SCMP_SYS(munmap),
    SCMP_SYS(mprotect),
    SCMP_SYS(mremap),
    SCMP_SYS(brk),
    SCMP_SYS(futex),
    SCMP_SYS(rt_sigaction),
    SCMP_SYS(rt_sigprocmask),
    SCMP_SYS(rt_sigreturn),
    SCMP_SYS(sigaltstack),
    SCMP_SYS(getpid),
    SCMP_SYS(gettid),
    SCMP_SYS(clock_gettime),
    SCMP_SYS(clock_getres),
    SCMP_SYS(gettimeofday),
    SCMP_SYS(time),
    SCMP_SYS(nanosleep),
    SCMP_SYS(sched_yield),
    SCMP_SYS(clock_nanosleep),
    SCMP_SYS(getcpu),
    SCMP_SYS(getrandom),
    SCMP_SYS(uname),
    SCMP_SYS(sysinfo),
    SCMP_SYS(readlink),
    SCMP_SYS(sched_getaffinity),
    SCMP_SYS(restart_syscall),
    SCMP_SYS(getuid),
    SCMP_SYS(geteuid),
    SCMP_SYS(getgid),
    SCMP_SYS(getegid),
};

// For our runner: to start, and to put the stricter filter in force.
inline constexpr std::array runner_calls{
    SCMP_SYS(execve), SCMP_SYS(arch_prctl), SCMP_SYS(set_tid_address), SCMP_SYS(set_robust_list),
    SCMP_SYS(rseq),   SCMP_SYS(prctl),      SCMP_SYS(seccomp),
};

// Neither builds nor scripts need these. Refused with EPERM.
inline constexpr std::array denied_calls{
    SCMP_SYS(ptrace),
    SCMP_SYS(process_vm_readv),
    SCMP_SYS(process_vm_writev),
    SCMP_SYS(kcmp),
    SCMP_SYS(pidfd_getfd),
    SCMP_SYS(bpf),
    SCMP_SYS(perf_event_open),
    SCMP_SYS(userfaultfd),
    SCMP_SYS(io_uring_setup),
    SCMP_SYS(io_uring_enter),
    SCMP_SYS(io_uring_register),
    SCMP_SYS(keyctl),
    SCMP_SYS(add_key),
    SCMP_SYS(request_key),
    SCMP_SYS(mount),
    SCMP_SYS(umount2),
    SCMP_SYS(pivot_root),
    SCMP_SYS(chroot),
    SCMP_SYS(move_mount),
    SCMP_SYS(open_tree),
    SCMP_SYS(fsopen),
    SCMP_SYS(fsconfig),
    SCMP_SYS(fsmount),
    SCMP_SYS(fspick),
    SCMP_SYS(mount_setattr),
    SCMP_SYS(unshare),
    SCMP_SYS(setns),
    SCMP_SYS(init_module),
    SCMP_SYS(finit_module),
    SCMP_SYS(delete_module),
    SCMP_SYS(kexec_load),
    SCMP_SYS(kexec_file_load),
    SCMP_SYS(reboot),
    SCMP_SYS(swapon),
    SCMP_SYS(swapoff),
    SCMP_SYS(acct),
    SCMP_SYS(quotactl),
    SCMP_SYS(syslog),
    SCMP_SYS(settimeofday),
    SCMP_SYS(clock_settime),
    SCMP_SYS(clock_adjtime),
    SCMP_SYS(adjtimex),
    SCMP_SYS(open_by_handle_at),
    SCMP_SYS(name_to_handle_at),
    SCMP_SYS(fanotify_init),
    SCMP_SYS(iopl),
    SCMP_SYS(ioperm),
    SCMP_SYS(lookup_dcookie),
    SCMP_SYS(move_pages),
    SCMP_SYS(migrate_pages),
    SCMP_SYS(mbind),
    SCMP_SYS(set_mempolicy),
    SCMP_SYS(vhangup),
    SCMP_SYS(personality),
};

// Sockets of other families than AF_UNIX are refused. A network namespace has no devices, but vsock
// passes it by and reaches the host of a virtual machine. Compilers, torch and the CUDA driver use
// AF_UNIX at most.
inline constexpr std::array socket_calls{SCMP_SYS(socket), SCMP_SYS(socketpair)};

// Beyond `candidate_calls`, what Python, torch and the CUDA driver call once they are loaded: the
// jail's own files, threads, events and devices. What is missing is refused, above all new programs
// and processes, sockets, signals to others, further filters, scheduling, and all with which the
// kernel keeps working for a stopped process, on the core where a baseline is timed meanwhile:
// timers, notifications, polling sets (one wake-up walks through all of them), asynchronous input
// and output, pages that are written back.
inline constexpr std::array process_calls{
    // Files: a candidate's modules and libraries, its folder in /tmp, the driver's nodes.
    SCMP_SYS(open),
    SCMP_SYS(openat),
    SCMP_SYS(stat),
    SCMP_SYS(lstat),
    SCMP_SYS(statx),
    SCMP_SYS(statfs),
    SCMP_SYS(fstatfs),
    SCMP_SYS(faccessat),
    SCMP_SYS(faccessat2),
    SCMP_SYS(readlinkat),
    SCMP_SYS(getdents64),
    SCMP_SYS(getcwd),
    SCMP_SYS(chdir),
    SCMP_SYS(mkdir),
    SCMP_SYS(mkdirat),
    SCMP_SYS(rmdir),
    SCMP_SYS(unlink),
    SCMP_SYS(unlinkat),
    SCMP_SYS(rename),
    SCMP_SYS(renameat),
    SCMP_SYS(renameat2),
    SCMP_SYS(symlink),
    SCMP_SYS(symlinkat),
    SCMP_SYS(chmod),
    SCMP_SYS(fchmod),
    SCMP_SYS(fchmodat),
    SCMP_SYS(umask),
    SCMP_SYS(utimensat),
    SCMP_SYS(ftruncate),
    SCMP_SYS(fallocate),
    SCMP_SYS(flock),
    SCMP_SYS(readv),
    SCMP_SYS(preadv),
    SCMP_SYS(pwrite64),
    SCMP_SYS(pwritev),
    SCMP_SYS(sendfile),
    SCMP_SYS(copy_file_range),
    SCMP_SYS(dup),
    SCMP_SYS(dup2),
    SCMP_SYS(dup3),
    // Events and devices. A launcher receives its plans as messages on a socket that it holds.
    SCMP_SYS(ioctl),
    SCMP_SYS(poll),
    SCMP_SYS(ppoll),
    SCMP_SYS(select),
    SCMP_SYS(pselect6),
    SCMP_SYS(pipe),
    SCMP_SYS(pipe2),
    SCMP_SYS(eventfd2),
    SCMP_SYS(recvmsg),
    // Memory.
    SCMP_SYS(memfd_create),
    SCMP_SYS(mincore),
    SCMP_SYS(mlock),
    SCMP_SYS(munlock),
    SCMP_SYS(get_mempolicy),
    // Threads and their ends; signals within the process.
    SCMP_SYS(arch_prctl),
    SCMP_SYS(set_tid_address),
    SCMP_SYS(set_robust_list),
    SCMP_SYS(rseq),
    SCMP_SYS(exit),
    SCMP_SYS(exit_group),
    SCMP_SYS(tgkill),
    // Questions about the process and the machine.
    SCMP_SYS(getppid),
    SCMP_SYS(getpgrp),
    SCMP_SYS(getgroups),
    SCMP_SYS(getresuid),
    SCMP_SYS(getresgid),
    SCMP_SYS(getrlimit),
    SCMP_SYS(getrusage),
    SCMP_SYS(getpriority),
    SCMP_SYS(times),
    SCMP_SYS(capget),
    SCMP_SYS(sched_getparam),
    SCMP_SYS(sched_getscheduler),
    SCMP_SYS(sched_get_priority_max),
    SCMP_SYS(sched_get_priority_min),
};

// Requests by `fcntl`. Not: a signal for input and output (a delayed SIGCONT would continue a
// stopped process), a lease (an open by another process waits for its holder), a folder's events.
inline constexpr std::array<uint64_t, 16> file_requests{
    0 /* F_DUPFD */,         1 /* F_GETFD */,
    2 /* F_SETFD */,         3 /* F_GETFL */,
    4 /* F_SETFL */,         5 /* F_GETLK */,
    6 /* F_SETLK */,         7 /* F_SETLKW */,
    36 /* F_OFD_GETLK */,    37 /* F_OFD_SETLK */,
    38 /* F_OFD_SETLKW */,   1030 /* F_DUPFD_CLOEXEC */,
    1031 /* F_SETPIPE_SZ */, 1032 /* F_GETPIPE_SZ */,
    1033 /* F_ADD_SEALS */,  1034 /* F_GET_SEALS */};

// Hints by `fadvise64` about the order of reads: the toolkit's libraries use them, and they cost
// nothing. Not: reading ahead and dropping pages.
inline constexpr std::array<uint64_t, 4> read_hints{
    0 /* POSIX_FADV_NORMAL */, 1 /* POSIX_FADV_RANDOM */, 2 /* POSIX_FADV_SEQUENTIAL */,
    5 /* POSIX_FADV_NOREUSE */};

// Advice by `madvise`. Not: reading ahead, and merging equal pages.
inline constexpr std::array<uint64_t, 12> memory_advice{
    0 /* MADV_NORMAL */,      1 /* MADV_RANDOM */,    2 /* MADV_SEQUENTIAL */,
    4 /* MADV_DONTNEED */,    8 /* MADV_FREE */,      9 /* MADV_REMOVE */,
    10 /* MADV_DONTFORK */,   11 /* MADV_DOFORK */,   14 /* MADV_HUGEPAGE */,
    15 /* MADV_NOHUGEPAGE */, 16 /* MADV_DONTDUMP */, 17 /* MADV_DODUMP */};

// Options of `prctl`: names of threads and of mappings, and questions.
inline constexpr std::array<uint64_t, 6> process_options{
    3 /* PR_GET_DUMPABLE */,  15 /* PR_SET_NAME */,         16 /* PR_GET_NAME */,
    23 /* PR_CAPBSET_READ */, 39 /* PR_GET_NO_NEW_PRIVS */, 0x53564d41 /* PR_SET_VMA */};

}  // namespace warpsmith::sandbox
