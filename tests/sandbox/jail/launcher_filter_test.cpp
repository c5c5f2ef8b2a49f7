// SPDX-License-Identifier: Apache-2.0
// The system calls that a launcher may still make once it has its candidate.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <ctime>
#include <functional>
#include <map>
#include <string>
#include <thread>

#include "runtime/run/durable_file.hpp"
#include "sandbox/jail/presets.hpp"
#include "sandbox/jail/seccomp_filter.hpp"

namespace warpsmith::sandbox {
namespace {

/// The result of `holds` under the filter, in its own process.
bool under_the_filter(const std::function<bool()>& holds) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(enter_launcher_filter() && holds() ? 0 : 1);
  int status = -1;
  (void)::waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

bool refused(long answer) {
  return answer == -1 && errno == EPERM;
}

TEST(LauncherFilterTest, RefusesNewProgramsAndProcesses) {
  EXPECT_TRUE(under_the_filter([] { return refused(::fork()); }));
  EXPECT_TRUE(under_the_filter([] {
    char* const none[] = {nullptr};
    return refused(::execve("/bin/true", none, none));
  }));
}

TEST(LauncherFilterTest, RefusesSocketsAndSignalsToOthers) {
  EXPECT_TRUE(under_the_filter([] { return refused(::socket(AF_UNIX, SOCK_STREAM, 0)); }));
  EXPECT_TRUE(under_the_filter([] { return refused(::kill(::getppid(), 0)); }));
}

/// A delayed SIGCONT would continue a stopped process.
TEST(LauncherFilterTest, RefusesDelayedSignalsToItself) {
  EXPECT_TRUE(under_the_filter([] {
    sigevent event{};
    event.sigev_notify = SIGEV_SIGNAL;
    event.sigev_signo = SIGCONT;
    timer_t timer{};
    return refused(::timer_create(CLOCK_MONOTONIC, &event, &timer));
  }));
  EXPECT_TRUE(under_the_filter([] {
    std::array<int, 2> pipe{};
    return ::pipe(pipe.data()) == 0 && refused(::fcntl(pipe[0], F_SETSIG, SIGCONT)) &&
           ::fcntl(pipe[0], F_SETFL, O_NONBLOCK) == 0;
  }));
}

/// The kernel's work on the core would be charged to a baseline that is timed meanwhile.
TEST(LauncherFilterTest, RefusesCallsThatContinueWhileItIsStopped) {
  const std::map<std::string, long> calls{
      {"timerfd_create", SYS_timerfd_create},
      {"timerfd_settime", SYS_timerfd_settime},
      {"timer_settime", SYS_timer_settime},
      {"setitimer", SYS_setitimer},
      {"alarm", SYS_alarm},
      {"epoll_create", SYS_epoll_create},
      {"epoll_create1", SYS_epoll_create1},
      {"io_setup", SYS_io_setup},
      {"io_submit", SYS_io_submit},
      {"mq_open", SYS_mq_open},
      {"mq_notify", SYS_mq_notify},
      {"inotify_init", SYS_inotify_init},
      {"inotify_init1", SYS_inotify_init1},
      {"inotify_add_watch", SYS_inotify_add_watch},
      {"readahead", SYS_readahead},
      {"process_madvise", SYS_process_madvise},
  };
  for (const auto& [name, number] : calls) {
    EXPECT_TRUE(under_the_filter([n = number] { return refused(::syscall(n, 0, 0, 0, 0, 0)); }))
        << name;
  }
}

TEST(LauncherFilterTest, RefusesLeasesAndEventsOfFolders) {
  EXPECT_TRUE(under_the_filter([] {
    const int folder = ::open("/", O_RDONLY | O_DIRECTORY);
    return folder >= 0 && refused(::fcntl(folder, F_NOTIFY, DN_ACCESS)) &&
           refused(::fcntl(folder, F_SETLEASE, F_RDLCK));
  }));
}

TEST(LauncherFilterTest, AllowsHintsAboutReadsButNoReadingAhead) {
  EXPECT_TRUE(under_the_filter([] {
    const int file = ::open("/proc/self/exe", O_RDONLY);
    return ::posix_fadvise(file, 0, 0, POSIX_FADV_WILLNEED) == EPERM &&
           ::posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED) == EPERM &&
           ::posix_fadvise(file, 0, 0, POSIX_FADV_SEQUENTIAL) == 0;
  }));
}

TEST(LauncherFilterTest, AllowsAdviceOnMemoryButNoReadingAhead) {
  EXPECT_TRUE(under_the_filter([] {
    constexpr size_t bytes = 4096;
    void* const page =
        ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return refused(::madvise(page, bytes, MADV_WILLNEED)) &&
           refused(::madvise(page, bytes, MADV_MERGEABLE)) &&
           ::madvise(page, bytes, MADV_DONTNEED) == 0;
  }));
}

TEST(LauncherFilterTest, LetsTheDriverWaitForEvents) {
  EXPECT_TRUE(under_the_filter([] {
    pollfd event{::eventfd(1, EFD_CLOEXEC), POLLIN, 0};
    return event.fd >= 0 && ::poll(&event, 1, 1000) == 1;
  }));
}

TEST(LauncherFilterTest, IsReportedOnlyIfInForce) {
  JailSpec spec = compile_jail();
  spec.argv = {"/bin/sleep", "60"};
  spec.directory = "/";
  const auto reported = [&](JailKind kind) -> std::string {
    spec.kind = kind;
    auto jail = JailedProcess::start(spec);
    if (!jail) return jail.error().message;
    const std::string name = "/proc/" + std::to_string((*jail)->pid()) + "/comm";
    const Deadline deadline = Deadline::after(std::chrono::seconds{20});
    while (read_text_file(name, 64).value_or("") != "sleep\n" && !deadline.passed()) {
      std::this_thread::yield();
    }
    const auto seen = (*jail)->observe();
    return seen ? (*jail)->report().at("seccomp") : seen.error().message;
  };
  EXPECT_EQ(reported(JailKind::compile), seccomp_name(JailKind::compile));
  EXPECT_EQ(reported(JailKind::launch), "none");
}

TEST(LauncherFilterTest, LetsTheDriverHaveThreads) {
  EXPECT_TRUE(under_the_filter([] {
    bool ran = false;
    std::thread([&] { ran = true; }).join();
    return ran;
  }));
}

TEST(LauncherFilterTest, AppliesToThreadsThatAlreadyExist) {
  const pid_t child = ::fork();
  if (child == 0) {
    std::atomic<bool> entered{false};
    bool was_refused = false;
    std::thread earlier([&] {
      while (!entered) std::this_thread::yield();
      was_refused = refused(::socket(AF_UNIX, SOCK_STREAM, 0));
    });
    entered = enter_launcher_filter().has_value();
    if (!entered) ::_exit(2);
    earlier.join();
    ::_exit(was_refused ? 0 : 1);
  }
  int status = -1;
  (void)::waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace warpsmith::sandbox
