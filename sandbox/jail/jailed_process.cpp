// SPDX-License-Identifier: Apache-2.0
// Starts bubblewrap, controls the jailed process by its pidfd, reaps it and cleans up.
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstring>
#include <mutex>
#include <set>
#include <shared_mutex>
#include <sstream>
#include <string_view>
#include <thread>
#include <utility>

#include "runtime/cuda/driver.hpp"
#include "runtime/process/child.hpp"
#include "runtime/process/memory_file.hpp"
#include "runtime/run/durable_file.hpp"
#include "sandbox/jail/bubblewrap.hpp"
#include "sandbox/jail/jail.hpp"
#include "sandbox/jail/jail_limits.hpp"
#include "sandbox/jail/process_state.hpp"
#include "sandbox/jail/seccomp_filter.hpp"

namespace warpsmith::sandbox {
namespace {

using std::chrono::seconds;

/// The pidfds of all jailed processes.
struct Registry {
  std::mutex mutex;
  std::set<int> pidfds;
};
Registry& registry() {
  static Registry all;
  return all;
}

/// Starts hold this shared; `refuse_new_jails` takes it exclusively, so it waits for starts in
/// flight.
struct StartGate {
  std::shared_mutex inside;
  std::atomic<bool> shut = false;
};
StartGate& start_gate() {
  static StartGate one;
  return one;
}

bool send_signal(int pidfd, int number) {
  return ::syscall(SYS_pidfd_send_signal, pidfd, number, nullptr, 0) == 0;
}

/// True once the process has ended.
bool has_ended(int pidfd, std::chrono::milliseconds within) {
  pollfd poll{pidfd, POLLIN, 0};
  return ::poll(&poll, 1, static_cast<int>(within.count())) > 0;
}

/// The text of a file in /proc; empty if its process has ended.
std::string text_of(const std::filesystem::path& path) {
  constexpr size_t most_bytes = 1U << 16U;
  return read_text_file(path, most_bytes).value_or("");
}

class Jail final : public JailedProcess {
 public:
  Jail(Child child, const JailSpec& spec)
      : child_(std::move(child)), kind_(spec.kind), cpu_limit_(spec.limits.cpu) {}
  ~Jail() override { (void)kill(); }

  /// Reads the jailed process's number from bubblewrap.
  Result<void> attach(UniqueFd status, Deadline deadline);
  void hold(JailCgroup cgroup) { cgroup_ = std::move(cgroup); }
  void note(const std::string& primitive, const std::string& in_force) {
    report_[primitive] = in_force;
  }

  pid_t pid() const override { return pid_; }
  bool alive() override { return pidfd_ && !has_ended(pidfd_.get(), std::chrono::milliseconds{0}); }
  Result<void> stop(Deadline deadline) override;
  Result<void> resume() override;
  Result<void> stop_all(Deadline deadline) override { return stop_processes(pid_, deadline); }
  void resume_all() override { resume_processes(pid_); }
  ChildText take_output() override { return child_.take_output(); }
  bool finished(std::chrono::milliseconds within) override {
    return exit_ || child_.finished(within);
  }
  Result<JailExit> wait(Deadline deadline) override;
  JailExit kill() override;
  Result<void> observe() override;
  void park_monitor() override { child_.signal(SIGSTOP); }
  const std::map<std::string, std::string>& report() const override { return report_; }

 private:
  void kill_child_of_monitor();
  JailExit finish(ChildExit exit);
  /// Whether SIGKILL came from neither this program nor a limit.
  bool was_killed_from_outside(const JailExit& ended) const {
    return ended.signal == SIGKILL && !killed_ && !ended.timed_out && !ended.out_of_memory &&
           kind_ != JailKind::host;
  }
  /// Reads once after at most `within`; false at the end of the stream.
  bool read_status(std::chrono::milliseconds within);
  bool has_more_status() const {
    pollfd poll{status_.get(), POLLIN, 0};
    return ::poll(&poll, 1, 0) > 0;
  }

  Child child_;  // bubblewrap's monitor
  JailCgroup cgroup_;
  JailKind kind_;
  seconds cpu_limit_;
  pid_t pid_ = -1;
  UniqueFd pidfd_, stat_, status_;
  std::string status_text_;  // bubblewrap's JSON
  bool killed_ = false;
  std::map<std::string, std::string> report_;
  std::optional<JailExit> exit_;
};

/// The number after "child-pid": in bubblewrap's JSON; 0 if it is missing.
pid_t parse_child_pid(std::string_view info) {
  constexpr std::string_view key = "\"child-pid\":";
  const size_t at = info.find(key);
  if (at == std::string_view::npos || info.find_first_of(",}", at) == std::string_view::npos) {
    return 0;
  }
  const size_t digits = info.find_first_not_of(' ', at + key.size());
  pid_t pid = 0;
  (void)std::from_chars(info.data() + digits, info.data() + info.size(), pid);
  return pid;
}

tl::unexpected<Error> no_hold(const std::string& what) {
  return fail(ErrorCode::io_failed, "jail: " + what + ": " + std::strerror(errno));
}

bool Jail::read_status(std::chrono::milliseconds within) {
  pollfd poll{status_.get(), POLLIN, 0};
  if (::poll(&poll, 1, static_cast<int>(within.count())) <= 0) return true;
  std::array<char, 512> chunk{};
  const ssize_t n = ::read(status_.get(), chunk.data(), chunk.size());
  if (n > 0) status_text_.append(chunk.data(), static_cast<size_t>(n));
  return n > 0;
}

Result<void> Jail::attach(UniqueFd status, Deadline deadline) {
  status_ = std::move(status);
  while (parse_child_pid(status_text_) == 0 &&
         read_status(std::min(deadline.left(), std::chrono::milliseconds{60'000}))) {
    if (deadline.passed()) {
      return fail(ErrorCode::process_failed, "jail: bubblewrap did not start in time");
    }
  }
  pid_ = parse_child_pid(status_text_);
  if (pid_ <= 0) {
    const ChildExit exit = child_.wait(Deadline::after(seconds{5}));
    return tl::unexpected(jail_not_made(exit.err));
  }
  // Both are needed to control the process, unless it has ended already.
  pidfd_ = UniqueFd{static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0))};
  if (!pidfd_ && errno != ESRCH) return no_hold("pidfd_open");
  const std::string stat = fmt::format("/proc/{}/stat", pid_);
  stat_ = UniqueFd{::open(stat.c_str(), O_RDONLY | O_CLOEXEC)};
  if (!stat_ && errno != ENOENT && errno != ESRCH) return no_hold(stat);
  if (pidfd_) {
    const std::lock_guard lock(registry().mutex);
    registry().pidfds.insert(pidfd_.get());
  }
  return {};
}

Result<void> Jail::stop(Deadline deadline) {
  if (!pidfd_ || !send_signal(pidfd_.get(), SIGSTOP)) {
    return fail(ErrorCode::peer_lost, "jail: the process has ended");
  }
  int late = 0;  // looks after the deadline: a machine that froze gave the process no time
  while (!is_stopped(pid_, stat_.get())) {
    if (deadline.passed() && ++late > 1000)
      return fail(ErrorCode::timeout, "jail: it did not stop");
    (void)::sched_yield();  // a process that shares this core handles the signal only then
    if (late > 0) std::this_thread::sleep_for(std::chrono::milliseconds{1});
  }
  return {};
}

Result<void> Jail::resume() {
  if (!pidfd_ || !send_signal(pidfd_.get(), SIGCONT)) {
    return fail(ErrorCode::peer_lost, "jail: the process has ended");
  }
  return {};
}

JailExit Jail::finish(ChildExit exit) {
  JailExit ended;
  ended.exit_code = exit.exit_code;
  ended.signal = exit.signal;
  // bubblewrap reports a signal of its first process as 128 + number. Shells use such codes too.
  if (kind_ != JailKind::shell && exit.exit_code > 128 && exit.exit_code <= 128 + 64) {
    ended.signal = exit.exit_code - 128;
    ended.exit_code = -1;
  }
  // The first process of a namespace ignores SIGXCPU; the same limit then kills it.
  constexpr std::chrono::milliseconds clock_grain{100};
  if (ended.signal == SIGKILL && exit.cpu + clock_grain >= cpu_limit_) ended.signal = SIGXCPU;
  ended.timed_out = exit.timed_out;
  ended.output_cut = exit.output_cut;
  // bubblewrap reports an exit code only if the jailed program began.
  while (status_ && read_status(std::chrono::milliseconds{0}) && has_more_status()) continue;
  ended.never_began = !killed_ && !exit.timed_out && exit.signal == 0 &&
                      status_text_.find("\"exit-code\"") == std::string::npos;
  ended.out = std::move(exit.out);
  ended.err = std::move(exit.err);
  // The first process of a namespace ends last.
  if (pidfd_) {
    (void)send_signal(pidfd_.get(), SIGKILL);
    (void)has_ended(pidfd_.get(), std::chrono::milliseconds{5000});
  }
  ended.out_of_memory = cgroup_.out_of_memory();
  ended.killed_from_outside = was_killed_from_outside(ended);
  cgroup_.remove();
  if (pidfd_) {
    const std::lock_guard lock(registry().mutex);
    registry().pidfds.erase(pidfd_.get());
  }
  pidfd_.reset();
  return ended;
}

Result<JailExit> Jail::wait(Deadline deadline) {
  child_.signal(SIGCONT);
  if (!exit_) exit_ = finish(child_.wait(deadline));
  return *exit_;
}

/// bubblewrap's child would wait for ever if its monitor ended before it may run.
void Jail::kill_child_of_monitor() {
  child_.signal(SIGSTOP);  // it cannot start a child once it is listed
  const pid_t monitor = child_.pid();
  const std::string stat = fmt::format("/proc/{}/stat", monitor);
  const UniqueFd state{::open(stat.c_str(), O_RDONLY | O_CLOEXEC)};
  const Deadline deadline = Deadline::after(seconds{1});
  while (!is_stopped(monitor, state.get()) && !deadline.passed()) (void)::sched_yield();
  for (const pid_t pid : children_of(monitor)) (void)::kill(pid, SIGKILL);
}

JailExit Jail::kill() {
  if (exit_) return *exit_;
  child_.signal(SIGCONT);
  const bool attached = static_cast<bool>(pidfd_);
  killed_ = alive() || !attached;
  if (!attached && child_.alive()) kill_child_of_monitor();
  if (pidfd_) (void)send_signal(pidfd_.get(), SIGKILL);
  ChildExit exit = child_.wait(Deadline::after(attached ? seconds{5} : seconds{0}));
  exit.timed_out = false;
  exit_ = finish(std::move(exit));
  return *exit_;
}

Result<void> Jail::observe() {
  const std::string status = text_of(fmt::format("/proc/{}/status", pid_));
  if (status.empty()) return fail(ErrorCode::peer_lost, "jail: the process has ended");
  const ConfinementState state = parse_status(status);
  std::string namespaces;
  for (const std::string& kind : foreign_namespaces(pid_)) {
    namespaces += (namespaces.empty() ? "" : ",") + kind;
  }
  note("namespaces", namespaces.empty() ? "none" : namespaces);
  note("capabilities", state.no_capabilities ? "none" : "some");
  // Zeros mean that the kernel keeps no account.
  const std::string account = text_of(fmt::format("/proc/{}/schedstat", pid_));
  note("core_account", account.empty() || account.starts_with("0 0 ") ? "none" : "schedstat");
  note("no_new_privs", state.no_new_privs ? "yes" : "no");
  // Kinds `launch` and `host` add a filter themselves. This process's own filters are inherited.
  const bool twice = kind_ == JailKind::launch || kind_ == JailKind::host;
  const int inherited = parse_status(text_of("/proc/self/status")).seccomp_filters;
  const bool whole = state.seccomp_filters - inherited >= (twice ? 2 : 1);
  note("seccomp", whole ? seccomp_name(kind_) : "none");
  return {};
}

/// Bubblewrap's descriptors, open until it has started.
struct Handover {
  BubblewrapDescriptors numbers;
  std::vector<MemoryFile> contents;
  std::map<int, int> descriptors;
};

Result<Handover> hand_over(const JailSpec& spec, const std::string& filter) {
  Handover over;
  over.descriptors = spec.descriptors;
  const auto give = [&](const std::string& name, const std::string& content,
                        int number) -> Result<void> {
    TRY(auto file, MemoryFile::sealed_copy(name, content));
    over.descriptors[number] = file.fd();
    over.contents.push_back(std::move(file));
    return {};
  };
  TRY_VOID(give("seccomp", filter, over.numbers.seccomp));
  int next = over.numbers.status - 1;
  for (const auto& [path, content] : spec.files) {
    over.numbers.files[path] = next;
    TRY_VOID(give("file", content, next--));
  }
  return over;
}

ChildSpec monitor_spec(const JailSpec& spec, const Handover& over, const std::string& program) {
  ChildSpec monitor;
  monitor.argv = bubblewrap_arguments(spec, program, over.numbers);
  monitor.environment = spec.environment;
  monitor.directory = "/";
  monitor.standard_input = spec.standard_input;
  monitor.output = spec.capture_output ? ChildOutput::captured : ChildOutput::discarded;
  monitor.die_with_thread = true;
  // The shell that started this program sends SIGHUP to a group with a stopped member when it ends.
  monitor.own_group = true;
  monitor.output_bytes = spec.limits.output_bytes;
  monitor.descriptors = over.descriptors;
  monitor.cores = spec.cores;
  monitor.fixed_addresses = spec.fixed_addresses;
  return monitor;
}

/// A primitive, and how its entry in a report begins if it is in force.
using Required = std::pair<std::string_view, std::string_view>;

}  // namespace

Result<std::unique_ptr<JailedProcess>> JailedProcess::start(const JailSpec& spec) {
  const std::shared_lock starting{start_gate().inside};
  if (start_gate().shut) return fail(ErrorCode::peer_lost, "jail: this process is ending");
  const std::string program = find_program("bwrap");
  if (program.empty()) return fail(ErrorCode::unsupported, "jail: bubblewrap (bwrap) is missing");
  TRY(const auto filter, seccomp_program(spec.kind));
  TRY(auto over, hand_over(spec, filter));
  std::array<int, 2> status{};
  if (::pipe2(status.data(), O_CLOEXEC) != 0) {
    return fail(ErrorCode::io_failed, std::string("jail: pipe: ") + std::strerror(errno));
  }
  UniqueFd status_read{status[0]};
  UniqueFd status_write{status[1]};
  over.descriptors[over.numbers.status] = status_write.get();

  JailCgroup cgroup = JailCgroup::make(spec.limits);
  if (spec.limits.cgroup_required) {
    TRY_VOID(all_in_force(cgroup.report()));
  }
  ChildSpec monitor = monitor_spec(spec, over, program);
  monitor.limits = resource_limits(spec, cgroup);
  monitor.join = cgroup.join_descriptors();
  TRY(auto child, Child::start(monitor));
  status_write.reset();
  auto jail = std::make_unique<Jail>(std::move(child), spec);
  for (const auto& [primitive, in_force] : limits_in_force(spec, cgroup)) {
    jail->note(primitive, in_force);
  }
  jail->hold(std::move(cgroup));
  TRY_VOID(jail->attach(std::move(status_read), Deadline::after(spec.start_timeout)));
  return jail;
}

Result<JailExit> run_jailed(const JailSpec& spec, Deadline deadline) {
  TRY(auto jail, JailedProcess::start(spec));
  auto exit = jail->wait(deadline);
  if (exit && exit->never_began) return tl::unexpected(jail_not_made(exit->err));
  return exit;
}

/// If bubblewrap were killed before its child may run, the child would wait for ever.
void refuse_new_jails() noexcept {
  start_gate().shut = true;
  const std::unique_lock all_started{start_gate().inside};
}

void kill_all_jails() noexcept {
  const std::lock_guard lock(registry().mutex);
  for (const int pidfd : registry().pidfds) (void)send_signal(pidfd, SIGKILL);
}

std::vector<std::string> missing_primitives(const std::map<std::string, std::string>& report,
                                            JailKind kind) {
  const std::string filter = seccomp_name(kind);
  // An address space limit is not enough: only a cgroup counts memory that the kernel allocates.
  std::vector<Required> required{
      {"capabilities", "none"}, {"core_dumps", "none"},
      {"memory", "cgroup v"},   {"namespaces", "user,pid,mnt,net,ipc,uts,cgroup"},
      {"no_new_privs", "yes"},  {"proc", "own"},
      {"root", "read-only"},    {"seccomp", filter}};
  if (kind == JailKind::run) {
    // Without the account, work after `done` would not be charged. The other kinds need threads for
    // the driver.
    required.insert(required.end(),
                    {{"core_account", "schedstat"}, {"processes", "seccomp, one task"}});
  }
  // A real GPU, whose kernels cannot reach the launcher's memory: they could forge its answers.
  if (kind == JailKind::launch) {
    required.insert(required.end(),
                    {{"devices", "/dev/nvidia"}, {"host_memory", cuda::host_memory_out_of_reach}});
  }
  std::ranges::sort(required);
  std::vector<std::string> missing;
  for (const auto& [primitive, in_force] : required) {
    const auto found = report.find(std::string(primitive));
    if (found == report.end() || !found->second.starts_with(in_force)) {
      missing.emplace_back(primitive);
    }
  }
  return missing;
}

bool is_full_jail(const std::map<std::string, std::string>& report, JailKind kind) {
  return missing_primitives(report, kind).empty();
}

}  // namespace warpsmith::sandbox
