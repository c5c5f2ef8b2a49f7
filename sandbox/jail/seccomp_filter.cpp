// SPDX-License-Identifier: Apache-2.0
#include "sandbox/jail/seccomp_filter.hpp"

#include <fcntl.h>
#include <linux/sched.h>
#include <seccomp.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <memory>
#include <span>

#include "runtime/process/unique_fd.hpp"
#include "sandbox/jail/seccomp_calls.hpp"

namespace warpsmith::sandbox {
namespace {

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
  return denied_calls.size() + 3 + socket_calls.size() + (keeps_its_cores(kind) ? 1 : 0);
}

/// The refused calls, with `clone` of a process and each refused argument counted as one.
constexpr size_t candidate_denied_count() {
  return launcher_denied_calls.size() + lasting_calls.size() + lasting_requests.size() +
         lasting_hints.size() + lasting_advice.size() + 1;
}

/// Replaces libseccomp's macros, which need C's compound literals.
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

/// Refuses everything that continues while the process is stopped.
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
  // For the driver's threads, which exist already.
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
