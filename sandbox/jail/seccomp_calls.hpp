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
    SCMP_SYS(madvise),
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

// A launcher no longer needs these once it has started and holds all its descriptors.
inline constexpr std::array launcher_denied_calls{
    SCMP_SYS(execve),     SCMP_SYS(execveat), SCMP_SYS(fork),  SCMP_SYS(vfork),  SCMP_SYS(socket),
    SCMP_SYS(socketpair), SCMP_SYS(connect),  SCMP_SYS(bind),  SCMP_SYS(listen), SCMP_SYS(accept),
    SCMP_SYS(accept4),    SCMP_SYS(kill),     SCMP_SYS(tkill), SCMP_SYS(setsid), SCMP_SYS(setpgid),
};

// With these the kernel keeps working for a process while it is stopped, on the same core: timers,
// notifications, asynchronous input and output. That time would be charged to the baseline that is
// timed meanwhile. Polling sets are refused too: one wake-up walks through all of them.
inline constexpr std::array lasting_calls{
    SCMP_SYS(timer_create),    SCMP_SYS(timer_settime),   SCMP_SYS(timerfd_create),
    SCMP_SYS(timerfd_settime), SCMP_SYS(setitimer),       SCMP_SYS(alarm),
    SCMP_SYS(epoll_create),    SCMP_SYS(epoll_create1),   SCMP_SYS(io_setup),
    SCMP_SYS(io_submit),       SCMP_SYS(mq_open),         SCMP_SYS(mq_notify),
    SCMP_SYS(inotify_init),    SCMP_SYS(inotify_init1),   SCMP_SYS(inotify_add_watch),
    SCMP_SYS(readahead),       SCMP_SYS(process_madvise),
};

// The same by `fcntl`: a signal for input and output (a delayed SIGCONT would continue a stopped
// process), a lease (an open by another process waits for its holder), a folder's events.
inline constexpr std::array<uint64_t, 3> lasting_requests{10 /* F_SETSIG */, 1024 /* F_SETLEASE */,
                                                          1026 /* F_NOTIFY */};

// The same by `fadvise64`: reading ahead and dropping pages. Hints about the order of reads stay
// allowed: the toolkit's libraries use them, and they cost nothing.
inline constexpr std::array<uint64_t, 2> lasting_hints{3 /* POSIX_FADV_WILLNEED */,
                                                       4 /* POSIX_FADV_DONTNEED */};

// The same by `madvise`: reading ahead, and merging equal pages.
inline constexpr std::array<uint64_t, 2> lasting_advice{3 /* MADV_WILLNEED */,
                                                        12 /* MADV_MERGEABLE */};

}  // namespace warpsmith::sandbox
