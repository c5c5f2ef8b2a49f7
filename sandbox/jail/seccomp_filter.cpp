// SPDX-License-Identifier: Apache-2.0
#include "sandbox/jail/seccomp_filter.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/sched.h>
#include <seccomp.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <sstream>
#include <string_view>
#include <vector>

#include "runtime/process/unique_fd.hpp"

namespace warpsmith::sandbox {
namespace {

/// The calls that filters name, in groups of those that are in the same sets.
struct CallTable {
  enum Set : unsigned {
    candidate = 1U << 0U,
    runner = 1U << 1U,
    jail = 1U << 2U,
    launcher = 1U << 3U,
    task = 1U << 4U,  // this set and those below: of synthesis/worker/sealing.py
    task_starts = 1U << 5U,
    task_listens = 1U << 6U,
    task_files = 1U << 7U,
  };
  struct Group {
    unsigned sets;
    std::string_view names;
  };
  static constexpr std::array groups{
#define WARPSMITH_CALLS(sets, ...) Group{sets, #__VA_ARGS__},
#include "runtime/process/system_calls.inc"
#undef WARPSMITH_CALLS
  };
};

std::vector<std::string> names_in(CallTable::Set set) {
  std::vector<std::string> names;
  for (const auto& group : CallTable::groups) {
    if ((group.sets & set) == 0) continue;
    std::istringstream words{std::string(group.names)};
    for (std::string name; std::getline(words >> std::ws, name, ',');) names.push_back(name);
  }
  return names;
}

// Sockets of other families than AF_UNIX are refused. A network namespace has no devices, but vsock
// passes it by and reaches the host of a virtual machine. Compilers, torch and the CUDA driver use
// AF_UNIX at most.
constexpr std::array socket_calls{SCMP_SYS(socket), SCMP_SYS(socketpair)};

// Work that continues while a process is stopped (the launcher's timers and polling sets in
// system_calls.inc), asked for by `fcntl`: a signal for input and output (a delayed SIGCONT would
// continue a stopped process), a lease (an open by another process waits for its holder), a
// folder's events.
constexpr std::array<uint64_t, 3> lasting_requests{10 /* F_SETSIG */, 1024 /* F_SETLEASE */,
                                                   1026 /* F_NOTIFY */};

// The same by `fadvise64`: reading ahead and dropping pages. Hints about the order of reads stay
// allowed: the toolkit's libraries use them, and they cost nothing.
constexpr std::array<uint64_t, 2> lasting_hints{3 /* POSIX_FADV_WILLNEED */,
                                                4 /* POSIX_FADV_DONTNEED */};

// The same by `madvise`: reading ahead, and merging equal pages.
constexpr std::array<uint64_t, 2> lasting_advice{3 /* MADV_WILLNEED */, 12 /* MADV_MERGEABLE */};

struct FilterRelease {
  void operator()(void* filter) const { seccomp_release(filter); }
};
using Filter = std::unique_ptr<void, FilterRelease>;

/// Only the worker may change its cores: max-autotune compiles on all of them.
bool keeps_its_cores(JailKind kind) {
  return kind != JailKind::worker;
}

/// The refused calls, with `clone3`, new namespaces, terminal input and other socket families.
size_t denied_count(JailKind kind) {
  return names_in(CallTable::jail).size() + 3 + socket_calls.size() +
         (keeps_its_cores(kind) ? 1 : 0);
}

/// The refused calls, with `clone` of a process and each refused argument counted as one.
size_t candidate_denied_count() {
  return names_in(CallTable::launcher).size() + lasting_requests.size() + lasting_hints.size() +
         lasting_advice.size() + 1;
}

/// Replaces libseccomp's macros, which need C's compound literals.
scmp_arg_cmp argument(unsigned index, scmp_compare how, uint64_t a, uint64_t b = 0) {
  return {index, how, a, b};
}

tl::unexpected<Error> refused(const std::string& what, int code) {
  return fail(ErrorCode::unsupported, "seccomp: " + what + ": " + std::strerror(-code));
}

/// Applies `action` to every call in `set`.
int add_all(scmp_filter_ctx filter, uint32_t action, CallTable::Set set) {
  for (const std::string& name : names_in(set)) {
    const int call = seccomp_syscall_resolve_name(name.c_str());
    const int code = call == __NR_SCMP_ERROR ? -ENOSYS : seccomp_rule_add(filter, action, call, 0);
    if (code != 0) return code;
  }
  return 0;
}

/// Allows `openat` for reading only: libraries need it.
int allow_reading(scmp_filter_ctx filter) {
  constexpr uint64_t writing = O_WRONLY | O_RDWR | O_CREAT | O_TRUNC | O_APPEND;
  return seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(openat), 1,
                          argument(2, SCMP_CMP_MASKED_EQ, writing, 0));
}

/// Allows `tgkill` for SIGABRT only, so a candidate cannot kill itself and look as if it was
/// killed.
int allow_abort(scmp_filter_ctx filter) {
  return seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(tgkill), 1,
                          argument(2, SCMP_CMP_EQ, SIGABRT));
}

/// Allows exit codes up to 127: bubblewrap reports signals as codes from 128 on.
int allow_exit(scmp_filter_ctx filter) {
  constexpr uint64_t largest_code = 127;
  for (const int call : {SCMP_SYS(exit), SCMP_SYS(exit_group)}) {
    const int code =
        seccomp_rule_add(filter, SCMP_ACT_ALLOW, call, 1, argument(0, SCMP_CMP_LE, largest_code));
    if (code != 0) return code;
  }
  return 0;
}

/// Allows `prlimit64` only for reading a limit: the third argument is null.
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
  int code = add_all(filter.get(), SCMP_ACT_ALLOW, CallTable::candidate);
  if (code == 0 && for_runner) code = add_all(filter.get(), SCMP_ACT_ALLOW, CallTable::runner);
  if (code == 0) code = allow_reading(filter.get());
  if (code == 0) code = allow_abort(filter.get());
  if (code == 0) code = allow_exit(filter.get());
  if (code == 0) code = allow_limit_query(filter.get());
  if (code == 0) code = answer_enosys(filter.get());
  if (code != 0) return refused("allow-list", code);
  return filter;
}

/// Refuses `clone` with a new namespace.
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

/// Refuses TIOCSTI: bytes pushed into a terminal's input would run commands outside.
int refuse_terminal_input(scmp_filter_ctx filter) {
  constexpr uint64_t push_input = 0x5412;  // TIOCSTI
  return seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(ioctl), 1,
                          argument(1, SCMP_CMP_MASKED_EQ, 0xffffffffU, push_input));
}

/// Refuses every socket family but AF_UNIX, as a kernel does that was built without them.
int refuse_other_families(scmp_filter_ctx filter) {
  for (const int call : socket_calls) {
    const int code = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EAFNOSUPPORT), call, 1,
                                      argument(0, SCMP_CMP_NE, AF_UNIX));
    if (code != 0) return code;
  }
  return 0;
}

Result<Filter> deny_list(JailKind kind) {
  Filter filter{seccomp_init(SCMP_ACT_ALLOW)};
  if (!filter) return fail(ErrorCode::unsupported, "seccomp: no filter can be made");
  int code = add_all(filter.get(), SCMP_ACT_ERRNO(EPERM), CallTable::jail);
  if (code == 0 && keeps_its_cores(kind)) {
    code = seccomp_rule_add(filter.get(), SCMP_ACT_ERRNO(EPERM), SCMP_SYS(sched_setaffinity), 0);
  }
  if (code == 0) code = answer_enosys(filter.get());
  if (code == 0) code = refuse_new_namespaces(filter.get());
  if (code == 0) code = refuse_terminal_input(filter.get());
  if (code == 0) code = refuse_other_families(filter.get());
  if (code != 0) return refused("deny-list", code);
  return filter;
}

/// Allows new threads (the driver needs them); refuses new processes.
int refuse_new_processes(scmp_filter_ctx filter) {
  return seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(clone), 1,
                          argument(0, SCMP_CMP_MASKED_EQ, CLONE_THREAD, 0));
}

/// Refuses `call` if its argument number `index` is one of `values`.
int refuse_values(scmp_filter_ctx filter, int call, unsigned index,
                  std::span<const uint64_t> values) {
  for (const uint64_t value : values) {
    const int code = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), call, 1,
                                      argument(index, SCMP_CMP_MASKED_EQ, 0xffffffffU, value));
    if (code != 0) return code;
  }
  return 0;
}

/// Refuses work that continues while the process is stopped.
int refuse_lasting_work(scmp_filter_ctx filter) {
  int code = refuse_values(filter, SCMP_SYS(fcntl), 1, lasting_requests);
  if (code == 0) code = refuse_values(filter, SCMP_SYS(fadvise64), 3, lasting_hints);
  if (code == 0) code = refuse_values(filter, SCMP_SYS(madvise), 2, lasting_advice);
  return code;
}

Result<Filter> threads_only() {
  Filter filter{seccomp_init(SCMP_ACT_ALLOW)};
  if (!filter) return fail(ErrorCode::unsupported, "seccomp: no filter can be made");
  // For the driver's threads, which exist already.
  int code = seccomp_attr_set(filter.get(), SCMP_FLTATR_CTL_TSYNC, 1);
  if (code == 0) code = add_all(filter.get(), SCMP_ACT_ERRNO(EPERM), CallTable::launcher);
  if (code == 0) code = refuse_new_processes(filter.get());
  if (code == 0) code = refuse_lasting_work(filter.get());
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
  TRY(auto filter, kind == JailKind::run ? allow_list(true) : deny_list(kind));
  return exported(filter.get());
}

std::string seccomp_name(JailKind kind) {
  if (kind == JailKind::launch || kind == JailKind::host) {
    return fmt::format("deny-list of {} calls, then of {} more", denied_count(kind),
                       candidate_denied_count());
  }
  return kind == JailKind::run
             ? fmt::format("allow-list of {} calls", names_in(CallTable::candidate).size() + 5)
             : fmt::format("deny-list of {} calls", denied_count(kind));
}

Result<void> enter_candidate_filter() {
  TRY(auto filter, allow_list(false));
  if (const int code = seccomp_load(filter.get()); code != 0) return refused("load", code);
  return {};
}

Result<void> enter_launcher_filter() {
  TRY(auto filter, threads_only());
  if (const int code = seccomp_load(filter.get()); code != 0) return refused("load", code);
  return {};
}

Result<std::string> host_candidate_program() {
  TRY(auto filter, threads_only());
  return exported(filter.get());
}

}  // namespace warpsmith::sandbox
