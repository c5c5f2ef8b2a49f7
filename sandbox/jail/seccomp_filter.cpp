// SPDX-License-Identifier: Apache-2.0
#include "sandbox/jail/seccomp_filter.hpp"

#include <fcntl.h>
#include <linux/sched.h>
#include <seccomp.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <memory>
#include <span>

#include "runtime/process/unique_fd.hpp"

namespace warpsmith::sandbox {
namespace {

struct FilterRelease {
  void operator()(void* filter) const { seccomp_release(filter); }
};
using Filter = std::unique_ptr<void, FilterRelease>;

// What a kernel that only computes needs: memory, its own signals, clocks, reading libraries.
constexpr std::array candidate_calls{
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

// What it takes to come alive as our runner and to put on the stricter filter.
constexpr std::array runner_calls{
    SCMP_SYS(execve), SCMP_SYS(arch_prctl), SCMP_SYS(set_tid_address), SCMP_SYS(set_robust_list),
    SCMP_SYS(rseq),   SCMP_SYS(prctl),      SCMP_SYS(seccomp),
};

// Nothing that builds or scripts do. Refused with EPERM.
constexpr std::array denied_calls{
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

/// A search for a baseline compiles on every core; nobody else leaves the cores that it was given.
bool keeps_its_cores(JailKind kind) {
  return kind != JailKind::worker;
}

/// With `clone3`, new namespaces and a terminal's input.
size_t denied_count(JailKind kind) {
  return denied_calls.size() + 3 + (keeps_its_cores(kind) ? 1 : 0);
}

// What a launcher has done by the time that it takes its candidate: started, and been handed all.
constexpr std::array launcher_denied_calls{
    SCMP_SYS(execve),     SCMP_SYS(execveat), SCMP_SYS(fork),  SCMP_SYS(vfork),  SCMP_SYS(socket),
    SCMP_SYS(socketpair), SCMP_SYS(connect),  SCMP_SYS(bind),  SCMP_SYS(listen), SCMP_SYS(accept),
    SCMP_SYS(accept4),    SCMP_SYS(kill),     SCMP_SYS(tkill), SCMP_SYS(setsid), SCMP_SYS(setpgid),
};

// By these the kernel goes on for a process that is stopped, on the core where it was: at a time of
// its choice, for whatever others do, or with input and output that nobody waits for. What the
// core's interrupts take is charged to whoever is timed there, and that is a baseline. Polling sets
// are refused with what wakes them: one wake-up runs through all that wait, a thousand of them.
constexpr std::array lasting_calls{
    SCMP_SYS(timer_create),    SCMP_SYS(timer_settime),   SCMP_SYS(timerfd_create),
    SCMP_SYS(timerfd_settime), SCMP_SYS(setitimer),       SCMP_SYS(alarm),
    SCMP_SYS(epoll_create),    SCMP_SYS(epoll_create1),   SCMP_SYS(io_setup),
    SCMP_SYS(io_submit),       SCMP_SYS(mq_open),         SCMP_SYS(mq_notify),
    SCMP_SYS(inotify_init),    SCMP_SYS(inotify_init1),   SCMP_SYS(inotify_add_watch),
    SCMP_SYS(readahead),       SCMP_SYS(process_madvise),
};

// The same asked of `fcntl`: which signal tells of input and output (a SIGCONT for later would let
// a stopped process go on), a lease, which lets others wait for its holder when they open the file,
// and a folder's events.
constexpr std::array<uint64_t, 3> lasting_requests{10 /* F_SETSIG */, 1024 /* F_SETLEASE */,
                                                   1026 /* F_NOTIFY */};

// Of `fadvise64`: reading ahead, and giving up what was read. To say in which order a file is read,
// as libraries of the toolkit may, costs nothing.
constexpr std::array<uint64_t, 2> lasting_hints{3 /* POSIX_FADV_WILLNEED */,
                                                4 /* POSIX_FADV_DONTNEED */};

// And of `madvise`: reading ahead, and pages that the kernel compares with others'.
constexpr std::array<uint64_t, 2> lasting_advice{3 /* MADV_WILLNEED */, 12 /* MADV_MERGEABLE */};

/// With `clone` of a process, and each request and advice as one.
constexpr size_t candidate_denied_count() {
  return launcher_denied_calls.size() + lasting_calls.size() + lasting_requests.size() +
         lasting_hints.size() + lasting_advice.size() + 1;
}

/// What the library's macros say with a compound literal, which C++ does not have.
scmp_arg_cmp argument(unsigned index, scmp_compare how, uint64_t a, uint64_t b = 0) {
  return {index, how, a, b};
}

tl::unexpected<Error> refused(const std::string& what, int code) {
  return fail(ErrorCode::unsupported, "seccomp: " + what + ": " + std::strerror(-code));
}

int allow_all(scmp_filter_ctx filter, std::span<const int> calls) {
  for (const int call : calls) {
    if (const int code = seccomp_rule_add(filter, SCMP_ACT_ALLOW, call, 0); code != 0) return code;
  }
  return 0;
}

/// Opening is for libraries: read-only, nothing made.
int allow_reading(scmp_filter_ctx filter) {
  constexpr uint64_t writing = O_WRONLY | O_RDWR | O_CREAT | O_TRUNC | O_APPEND;
  return seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(openat), 1,
                          argument(2, SCMP_CMP_MASKED_EQ, writing, 0));
}

/// What `abort` raises. Nobody kills itself and looks as if it had been killed.
int allow_abort(scmp_filter_ctx filter) {
  return seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(tgkill), 1,
                          argument(2, SCMP_CMP_EQ, SIGABRT));
}

/// bubblewrap tells of a signal by a code from 128 on: nobody ends like that by itself either.
int allow_exit(scmp_filter_ctx filter) {
  constexpr uint64_t largest_code = 127;
  for (const int call : {SCMP_SYS(exit), SCMP_SYS(exit_group)}) {
    const int code =
        seccomp_rule_add(filter, SCMP_ACT_ALLOW, call, 1, argument(0, SCMP_CMP_LE, largest_code));
    if (code != 0) return code;
  }
  return 0;
}

/// Asking for a limit, not setting one (third argument null).
int allow_limit_query(scmp_filter_ctx filter) {
  return seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(prlimit64), 1,
                          argument(2, SCMP_CMP_EQ, 0));
}

int answer_enosys(scmp_filter_ctx filter) {
  return seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0);
}

Result<Filter> allow_list(bool for_runner) {
  Filter filter{seccomp_init(SCMP_ACT_ERRNO(EPERM))};
  if (!filter) return fail(ErrorCode::unsupported, "seccomp: no filter can be made");
  int code = allow_all(filter.get(), candidate_calls);
  if (code == 0 && for_runner) code = allow_all(filter.get(), runner_calls);
  if (code == 0) code = allow_reading(filter.get());
  if (code == 0) code = allow_abort(filter.get());
  if (code == 0) code = allow_exit(filter.get());
  if (code == 0) code = allow_limit_query(filter.get());
  if (code == 0) code = answer_enosys(filter.get());
  if (code != 0) return refused("allow-list", code);
  return filter;
}

/// Refuses `clone` that asks for a new namespace.
int refuse_new_namespaces(scmp_filter_ctx filter) {
  constexpr std::array<uint64_t, 7> flags{CLONE_NEWUSER, CLONE_NEWNS,  CLONE_NEWPID,   CLONE_NEWNET,
                                          CLONE_NEWIPC,  CLONE_NEWUTS, CLONE_NEWCGROUP};
  for (const uint64_t flag : flags) {
    const int code = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(clone), 1,
                                      argument(0, SCMP_CMP_MASKED_EQ, flag, flag));
    if (code != 0) return code;
  }
  return 0;
}

/// Pushing bytes into a terminal's input would run commands outside.
int refuse_terminal_input(scmp_filter_ctx filter) {
  constexpr uint64_t push_input = 0x5412;  // TIOCSTI
  return seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(ioctl), 1,
                          argument(1, SCMP_CMP_MASKED_EQ, 0xffffffffU, push_input));
}

int deny_all(scmp_filter_ctx filter, std::span<const int> calls) {
  for (const int call : calls) {
    const int code = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), call, 0);
    if (code != 0) return code;
  }
  return 0;
}

Result<Filter> deny_list(JailKind kind) {
  constexpr std::array moving{SCMP_SYS(sched_setaffinity)};
  Filter filter{seccomp_init(SCMP_ACT_ALLOW)};
  if (!filter) return fail(ErrorCode::unsupported, "seccomp: no filter can be made");
  int code = deny_all(filter.get(), denied_calls);
  if (code == 0 && keeps_its_cores(kind)) code = deny_all(filter.get(), moving);
  if (code == 0) code = answer_enosys(filter.get());
  if (code == 0) code = refuse_new_namespaces(filter.get());
  if (code == 0) code = refuse_terminal_input(filter.get());
  if (code != 0) return refused("deny-list", code);
  return filter;
}

/// Threads are the driver's, processes nobody's.
int refuse_new_processes(scmp_filter_ctx filter) {
  return seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(clone), 1,
                          argument(0, SCMP_CMP_MASKED_EQ, CLONE_THREAD, 0));
}

/// Refuses `call` where its argument number `index` is one of these.
int refuse_values(scmp_filter_ctx filter, int call, unsigned index,
                  std::span<const uint64_t> values) {
  for (const uint64_t value : values) {
    const int code = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), call, 1,
                                      argument(index, SCMP_CMP_MASKED_EQ, 0xffffffffU, value));
    if (code != 0) return code;
  }
  return 0;
}

/// Whatever would go on while the process is stopped.
int refuse_what_lasts(scmp_filter_ctx filter) {
  int code = deny_all(filter, lasting_calls);
  if (code == 0) code = refuse_values(filter, SCMP_SYS(fcntl), 1, lasting_requests);
  if (code == 0) code = refuse_values(filter, SCMP_SYS(fadvise64), 3, lasting_hints);
  if (code == 0) code = refuse_values(filter, SCMP_SYS(madvise), 2, lasting_advice);
  return code;
}

Result<Filter> threads_only() {
  Filter filter{seccomp_init(SCMP_ACT_ALLOW)};
  if (!filter) return fail(ErrorCode::unsupported, "seccomp: no filter can be made");
  // The driver's threads are there already.
  int code = seccomp_attr_set(filter.get(), SCMP_FLTATR_CTL_TSYNC, 1);
  if (code == 0) code = deny_all(filter.get(), launcher_denied_calls);
  if (code == 0) code = refuse_new_processes(filter.get());
  if (code == 0) code = refuse_what_lasts(filter.get());
  if (code != 0) return refused("deny-list", code);
  return filter;
}

Result<std::string> exported(scmp_filter_ctx filter) {
  const UniqueFd fd{::memfd_create("bpf", MFD_CLOEXEC)};
  if (const int code = seccomp_export_bpf(filter, fd.get()); code != 0) {
    return refused("export", code);
  }
  const off_t size = ::lseek(fd.get(), 0, SEEK_END);
  std::string program(static_cast<size_t>(size), '\0');
  if (::pread(fd.get(), program.data(), program.size(), 0) != size) return refused("read", -EIO);
  return program;
}

}  // namespace

Result<std::string> seccomp_program(JailKind kind) {
  auto filter = kind == JailKind::run ? allow_list(true) : deny_list(kind);
  if (!filter) return tl::unexpected(std::move(filter.error()));
  return exported(filter->get());
}

std::string seccomp_name(JailKind kind) {
  if (kind == JailKind::launch || kind == JailKind::host) {
    return "deny-list of " + std::to_string(denied_count(kind)) + " calls, then of " +
           std::to_string(candidate_denied_count()) + " more";
  }
  return kind == JailKind::run
             ? "allow-list of " + std::to_string(candidate_calls.size() + 5) + " calls"
             : "deny-list of " + std::to_string(denied_count(kind)) + " calls";
}

Result<void> enter_candidate_filter() {
  auto filter = allow_list(false);
  if (!filter) return tl::unexpected(std::move(filter.error()));
  if (const int code = seccomp_load(filter->get()); code != 0) return refused("load", code);
  return {};
}

Result<void> enter_launcher_filter() {
  auto filter = threads_only();
  if (!filter) return tl::unexpected(std::move(filter.error()));
  if (const int code = seccomp_load(filter->get()); code != 0) return refused("load", code);
  return {};
}

Result<std::string> host_candidate_program() {
  auto filter = threads_only();
  if (!filter) return tl::unexpected(std::move(filter.error()));
  return exported(filter->get());
}

}  // namespace warpsmith::sandbox
