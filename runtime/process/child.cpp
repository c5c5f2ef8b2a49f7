// SPDX-License-Identifier: Apache-2.0
#include "runtime/process/child.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <boost/process.hpp>
#include <boost/process/extend.hpp>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

#include "runtime/process/memory_file.hpp"
#include "runtime/text.hpp"

namespace warpsmith {
namespace {

namespace bp = boost::process;

/// Why a child could not start its program; the child sends it to the parent in one write.
struct StartFailure {
  int error = 0;
  std::array<char, 28> step{};  // zero-terminated
};

/// What the child does between fork and exec. Makes only async-signal-safe calls; never allocates.
struct Setup {
  std::vector<std::pair<int, int>> moves;  // the parent's descriptor → number in the child
  std::vector<ResourceLimit> limits;
  std::vector<int> join;
  std::string directory;
  UniqueFd report;  // the write end of a pipe that closes at exec
  std::optional<cpu_set_t> cores;
  pid_t die_with = 0;  // the parent whose spawning thread the child must not outlive; 0: none
  bool own_group = false;
  bool fixed_addresses = false;

  /// Returns null, or the step that failed, with errno set.
  const char* run() const {
    sigset_t none;
    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, nullptr);
    if (die_with != 0 && !dies_with_parent()) return "end with its parent";
    if (own_group && ::setpgid(0, 0) != 0) return "make its process group";
    if (fixed_addresses) (void)::personality(ADDR_NO_RANDOMIZE);
    for (const int fd : join) {
      if (::write(fd, "0", 1) != 1) return "join its cgroup";
    }
    if (cores && ::sched_setaffinity(0, sizeof *cores, &*cores) != 0) return "pin it to its cores";
    if (!directory.empty() && ::chdir(directory.c_str()) != 0) return "enter its directory";
    // Descriptors that the parent left open must not reach the child's program.
    constexpr unsigned close_on_exec = 4;  // CLOSE_RANGE_CLOEXEC
    if (::syscall(SYS_close_range, 3U, ~0U, close_on_exec) != 0) return "close descriptors";
    for (const auto& [from, to] : moves) {
      if (::dup2(from, to) < 0) return "place its descriptors";
    }
    const bool limited = std::all_of(limits.begin(), limits.end(), [](const ResourceLimit& limit) {
      const rlimit value{limit.value, limit.value};
      return ::setrlimit(static_cast<__rlimit_resource_t>(limit.resource), &value) == 0;
    });
    return limited ? nullptr : "set its limits";
  }

  /// The kernel sends no signal if the parent ended before the request. The spawning thread waits
  /// for exec, so it ends only with its process.
  bool dies_with_parent() const {
    if (::prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) return false;
    errno = ESRCH;
    return ::getppid() == die_with;
  }

  /// Reports to the parent and ends the child, because Boost would continue to exec after a failed
  /// set-up.
  [[noreturn]] void give_up(const char* step, int error) const {
    StartFailure failure{.error = error};
    ::strncpy(failure.step.data(), step, failure.step.size() - 1);
    (void)!::write(report.get(), &failure, sizeof failure);
    ::_exit(126);
  }
};

/// Boost's hook: runs `Setup`; ends the child if it or exec fails.
struct SetupHandler : bp::extend::handler {
  SetupHandler(const Setup& what, std::error_code& no_fork) : setup(&what), fork_error(&no_fork) {}
  template <class Executor>
  void on_fork_error(Executor& /*executor*/, const std::error_code& error) const {
    *fork_error = error;
  }
  template <class Executor>
  void on_exec_setup(Executor& /*executor*/) const {
    if (const char* step = setup->run()) setup->give_up(step, errno);
  }
  template <class Executor>
  void on_exec_error(Executor& /*executor*/, const std::error_code& error) const {
    setup->give_up("execute it", error.value());
  }
  const Setup* setup;
  std::error_code* fork_error;  // set in the parent if fork failed
};

/// Duplicates a descriptor to a number above all that a child may ask for, so that dup2 never
/// overwrites a source.
UniqueFd duplicate_high(int fd) {
  return UniqueFd{::fcntl(fd, F_DUPFD_CLOEXEC, 128)};
}

/// Passes descriptors to a child; keeps them open until it has started.
struct PassedDescriptors {
  Setup& setup;
  std::vector<UniqueFd> held;

  explicit PassedDescriptors(Setup& for_it) : setup(for_it) {}
  void add(int fd, int number) {
    held.push_back(duplicate_high(fd));
    setup.moves.emplace_back(held.back().get(), number);
  }
};

std::chrono::microseconds span_of(const timeval& time) {
  return std::chrono::seconds{time.tv_sec} + std::chrono::microseconds{time.tv_usec};
}

struct Pipe {
  UniqueFd read, write;
};

Result<Pipe> make_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
    return fail(ErrorCode::io_failed, std::string("pipe: ") + std::strerror(errno));
  }
  return Pipe{UniqueFd{ends[0]}, UniqueFd{ends[1]}};
}

cpu_set_t set_of(const std::vector<int>& cores) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int core : cores) CPU_SET(static_cast<unsigned>(core), &set);
  return set;
}

bp::environment environment_of(const std::map<std::string, std::string>& variables) {
  bp::environment environment;
  for (const auto& [name, value] : variables) environment[name] = value;
  return environment;
}

/// One captured stream.
struct Stream {
  UniqueFd fd;
  std::string* text = nullptr;
  size_t limit = 0;

  /// Reads what has arrived; closes at the end of the stream. Returns even if the child writes
  /// without end.
  void drain(bool& cut) {
    constexpr int most_chunks = 64;
    std::array<char, 65536> chunk{};
    for (int chunks = 0; fd && chunks < most_chunks; ++chunks) {
      const ssize_t n = ::read(fd.get(), chunk.data(), chunk.size());
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return;
      if (n == 0) return fd.reset();
      const size_t keep = std::min(static_cast<size_t>(n), limit - text->size());
      text->append(chunk.data(), keep);
      cut = cut || keep < static_cast<size_t>(n);
    }
  }
};

}  // namespace

struct Child::State {
  pid_t pid = -1;
  UniqueFd pidfd;
  Stream out, err;
  bool reaped = false;
  ChildExit exit;

  /// Connects standard output and error to pipes or /dev/null, or leaves the parent's in place.
  Result<void> connect(const ChildSpec& spec, PassedDescriptors& given) {
    if (spec.output == ChildOutput::discarded) {
      const UniqueFd null{::open("/dev/null", O_RDWR | O_CLOEXEC)};
      given.add(null.get(), 1);
      given.add(null.get(), 2);
    }
    if (spec.output != ChildOutput::captured) return {};
    auto to_out = make_pipe();
    auto to_err = make_pipe();
    if (!to_out || !to_err) return tl::unexpected(to_out ? to_err.error() : to_out.error());
    for (const Pipe* pipe : {&*to_out, &*to_err}) {
      (void)::fcntl(pipe->read.get(), F_SETFL, O_NONBLOCK);
    }
    given.add(to_out->write.get(), 1);
    given.add(to_err->write.get(), 2);
    out = {std::move(to_out->read), &exit.out, spec.output_bytes};
    err = {std::move(to_err->read), &exit.err, spec.output_bytes};
    return {};
  }

  void drain() {
    out.drain(exit.output_cut);
    err.drain(exit.output_cut);
  }

  /// Returns true once the child has ended and its exit is recorded.
  bool reap(int options) {
    if (reaped) return true;
    int status = 0;
    pid_t got = 0;
    rusage used{};
    do {
      got = ::wait4(pid, &status, options, &used);
    } while (got < 0 && errno == EINTR);
    if (got == 0) return false;
    reaped = true;
    if (got == pid) exit.cpu = span_of(used.ru_utime) + span_of(used.ru_stime);
    if (got == pid && WIFEXITED(status)) exit.exit_code = WEXITSTATUS(status);
    if (got == pid && WIFSIGNALED(status)) exit.signal = WTERMSIG(status);
    drain();
    return true;
  }

  void poll_once(std::chrono::milliseconds left) {
    std::array<pollfd, 3> fds{{{pidfd.get(), POLLIN, 0},
                               {out.fd ? out.fd.get() : -1, POLLIN, 0},
                               {err.fd ? err.fd.get() : -1, POLLIN, 0}}};
    const auto timeout = std::min<int64_t>(left.count(), 60'000);
    (void)::poll(fds.data(), fds.size(), static_cast<int>(timeout));
    drain();
  }

  ~State() {
    if (pid > 0 && !reaped) {
      (void)::kill(pid, SIGKILL);
      (void)reap(0);
    }
  }
};

namespace {

/// Waits for data; returns false if the deadline passes first.
bool is_readable(int fd, Deadline deadline) {
  pollfd wanted{fd, POLLIN, 0};
  while (true) {
    const auto left = static_cast<int>(deadline.left().count());
    if (::poll(&wanted, 1, left) > 0) return true;
    if (deadline.passed()) return false;
  }
}

void reap_alone(pid_t pid) {
  while (::waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
  }
}

/// Waits until the child runs its program; reaps a child that fails to start or takes too long.
Result<void> await_exec(pid_t pid, const Pipe& report, std::chrono::milliseconds within) {
  if (!is_readable(report.read.get(), Deadline::after(within))) {
    (void)::kill(pid, SIGKILL);
    reap_alone(pid);
    return fail(ErrorCode::process_failed,
                "its program did not run within " + duration_text(within));
  }
  StartFailure failure;
  ssize_t got = 0;
  do {
    got = ::read(report.read.get(), &failure, sizeof failure);
  } while (got < 0 && errno == EINTR);
  if (got == 0) return {};  // closed by exec
  const int error = got < 0 ? errno : failure.error;
  if (got < 0) (void)::kill(pid, SIGKILL);
  reap_alone(pid);
  return fail(ErrorCode::process_failed,
              std::string("cannot ") + failure.step.data() + ": " + std::strerror(error));
}

Result<pid_t> launch(const ChildSpec& spec, Setup& setup) {
  const std::string program =
      spec.argv.at(0).find('/') == std::string::npos ? find_program(spec.argv[0]) : spec.argv[0];
  if (program.empty()) {
    return fail(ErrorCode::not_found, "program '" + spec.argv[0] + "' is not in PATH");
  }
  TRY(auto report, make_pipe());
  setup.report = duplicate_high(report.write.get());
  report.write.reset();
  const std::vector<std::string> arguments(spec.argv.begin() + 1, spec.argv.end());
  const bp::environment environment = spec.environment
                                          ? environment_of(*spec.environment)
                                          : bp::environment(boost::this_process::environment());
  std::error_code error;
  // ignore_error: otherwise Boost waits, without limit, for the error that our pipe reports.
  bp::child child(bp::exe = program, bp::args = arguments, environment, SetupHandler{setup, error},
                  bp::ignore_error);
  const pid_t pid = child.id();
  child.detach();  // this file reaps: Boost's wait has no deadline
  if (error) {
    return fail(ErrorCode::process_failed, "start " + program + ": " + error.message());
  }
  setup.report.reset();
  auto begun = await_exec(pid, report, spec.start_timeout);
  if (!begun) return fail("start " + program, std::move(begun.error()));
  return pid;
}

}  // namespace

Result<Child> Child::start(const ChildSpec& spec) {
  auto state = std::make_unique<State>();
  TRY(auto input, MemoryFile::sealed_copy("stdin", spec.standard_input));
  Setup setup;
  setup.limits = spec.limits;
  setup.join = spec.join;
  setup.directory = spec.directory;
  setup.die_with = spec.die_with_thread ? ::getpid() : 0;
  setup.own_group = spec.own_group;
  setup.fixed_addresses = spec.fixed_addresses;
  PassedDescriptors given{setup};
  given.add(input.fd(), 0);
  TRY_VOID(state->connect(spec, given));
  for (const auto& [number, fd] : spec.descriptors) given.add(fd, number);
  if (!spec.cores.empty()) setup.cores = set_of(spec.cores);
  TRY(const auto pid, launch(spec, setup));
  state->pid = pid;
  state->pidfd = UniqueFd{static_cast<int>(::syscall(SYS_pidfd_open, state->pid, 0))};
  return Child{std::move(state)};
}

pid_t Child::pid() const {
  return state_->pid;
}

bool Child::alive() {
  state_->drain();
  return !state_->reap(WNOHANG);
}

bool Child::finished(std::chrono::milliseconds within) {
  const Deadline deadline = Deadline::after(within);
  while (!state_->reap(WNOHANG)) {
    if (deadline.passed()) return false;
    state_->poll_once(deadline.left());
  }
  return true;
}

ChildText Child::take_output() {
  ChildExit& exit = state_->exit;
  return {std::exchange(exit.out, {}), std::exchange(exit.err, {}),
          std::exchange(exit.output_cut, false)};
}

ChildExit Child::wait(Deadline deadline) {
  while (!state_->reap(WNOHANG)) {
    if (deadline.passed()) {
      state_->exit.timed_out = true;
      signal(SIGKILL);
      (void)state_->reap(0);
      break;
    }
    state_->poll_once(deadline.left());
  }
  return state_->exit;
}

void Child::signal(int number) {
  if (!state_->reaped) (void)::kill(state_->pid, number);
}

Child::Child(std::unique_ptr<State> state) : state_(std::move(state)) {}
Child::Child(Child&&) noexcept = default;
Child& Child::operator=(Child&&) noexcept = default;
Child::~Child() = default;

Result<ChildExit> run_child(const ChildSpec& spec, Deadline deadline) {
  TRY(auto child, Child::start(spec));
  return child.wait(deadline);
}

std::string find_program(const std::string& name) {
  return bp::search_path(name).string();
}

}  // namespace warpsmith
