// SPDX-License-Identifier: Apache-2.0
// Child processes: exit codes, deadlines, output limits, descriptors.
#include "runtime/process/child.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <filesystem>

#include "runtime/process/memory_file.hpp"

namespace warpsmith {
namespace {

namespace fs = std::filesystem;

using std::chrono::milliseconds;
using std::chrono::seconds;

ChildExit run_shell(const std::string& script, ChildSpec spec = {}) {
  spec.argv = {"/bin/sh", "-c", script};
  auto exit = run_child(spec, Deadline::after(seconds{20}));
  EXPECT_TRUE(exit) << exit.error().message;
  return *exit;
}

TEST(ChildTest, ReportsExitCodeAndBothStreams) {
  const ChildExit exit = run_shell("echo out; echo err >&2; exit 7");
  EXPECT_EQ(exit.exit_code, 7);
  EXPECT_EQ(exit.out, "out\n");
  EXPECT_EQ(exit.err, "err\n");
  EXPECT_FALSE(exit.timed_out);
}

TEST(ChildTest, ReportsTheSignalThatEndedIt) {
  const ChildExit exit = run_shell("kill -SEGV $$");
  EXPECT_EQ(exit.signal, SIGSEGV);
  EXPECT_EQ(exit.exit_code, -1);
}

TEST(ChildTest, IsKilledAtItsDeadline) {
  ChildSpec spec;
  spec.argv = {"/bin/sleep", "100"};
  const auto exit = run_child(spec, Deadline::after(milliseconds{50}));
  ASSERT_TRUE(exit);
  EXPECT_TRUE(exit->timed_out);
  EXPECT_EQ(exit->signal, SIGKILL);
}

TEST(ChildTest, HasItsOwnProcessGroupOnRequest) {
  for (const bool own : {false, true}) {
    auto child = Child::start({.argv = {"sleep", "60"}, .own_group = own});
    ASSERT_TRUE(child) << child.error().message;
    EXPECT_EQ(::getpgid(child->pid()), own ? child->pid() : ::getpgrp());
  }
}

TEST(ChildTest, KeepsOutputUpToItsLimit) {
  ChildSpec spec;
  spec.output_bytes = 1000;
  const ChildExit exit = run_shell("head -c 3000000 /dev/zero", spec);
  EXPECT_EQ(exit.exit_code, 0);
  EXPECT_EQ(exit.out.size(), 1000U);
  EXPECT_TRUE(exit.output_cut);
}

TEST(ChildTest, FeedsStandardInput) {
  ChildSpec spec;
  spec.standard_input = std::string(300'000, 'x');
  EXPECT_EQ(run_shell("wc -c", spec).out, "300000\n");
}

TEST(ChildTest, PassesDescriptorsUnderTheirNumbers) {
  const auto a = MemoryFile::sealed_copy("a", "first");
  const auto b = MemoryFile::sealed_copy("b", "second");
  ASSERT_TRUE(a && b);
  ChildSpec spec;
  spec.descriptors = {{4, a->fd()}, {3, b->fd()}};
  EXPECT_EQ(run_shell("cat <&4; cat <&3", spec).out, "firstsecond");
}

TEST(ChildTest, LeaksNoOtherDescriptorEvenWhenInheritable) {
  const auto hidden = MemoryFile::sealed_copy("hidden", "secret");
  ASSERT_TRUE(hidden);
  const UniqueFd inheritable{::dup(hidden->fd())};
  const ChildExit exit = run_shell("ls -l /proc/self/fd");
  EXPECT_EQ(exit.out.find("hidden"), std::string::npos) << exit.out;
}

TEST(ChildTest, GetsExactlyTheGivenEnvironmentAndLimits) {
  ChildSpec spec;
  spec.environment = std::map<std::string, std::string>{{"ONLY", "this"}};
  spec.limits = {{RLIMIT_NOFILE, 33}};
  const ChildExit exit = run_shell("echo $ONLY-$HOME-$(ulimit -n)", spec);
  EXPECT_EQ(exit.out, "this--33\n");
}

TEST(ChildTest, NamesTheProgramThatCannotStart) {
  ChildSpec spec;
  spec.argv = {"/nowhere/prog"};
  const auto child = Child::start(spec);
  ASSERT_FALSE(child);
  EXPECT_NE(child.error().message.find("/nowhere/prog"), std::string::npos);
}

bool has_children() {
  return ::waitpid(-1, nullptr, WNOHANG) != -1 || errno != ECHILD;
}

TEST(ChildTest, DoesNotRunWithoutItsLimits) {
  const fs::path folder = fs::path(testing::TempDir()) / ("child-" + std::to_string(::getpid()));
  fs::create_directory(folder);
  ChildSpec spec;
  spec.argv = {"/bin/sh", "-c", "touch " + (folder / "ran").string()};
  spec.limits = {{RLIMIT_NOFILE, UINT64_MAX}};
  const auto child = Child::start(spec);
  ASSERT_FALSE(child);
  EXPECT_NE(child.error().message.find("/bin/sh: cannot set its limits"), std::string::npos)
      << child.error().message;
  EXPECT_FALSE(has_children()) << "reaped before start returned, so it cannot write any more";
  EXPECT_FALSE(fs::exists(folder / "ran"));
  fs::remove_all(folder);
}

TEST(ChildTest, DoesNotRunOutsideItsDirectory) {
  ChildSpec spec;
  spec.argv = {"/bin/true"};
  spec.directory = "/nowhere";
  const auto child = Child::start(spec);
  ASSERT_FALSE(child);
  EXPECT_NE(child.error().message.find("enter its directory"), std::string::npos);
}

/// A full pipe: a write to it blocks.
std::pair<UniqueFd, UniqueFd> full_pipe() {
  std::array<int, 2> ends{};
  EXPECT_EQ(::pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK), 0);
  const std::array<char, 4096> page{};
  while (::write(ends[1], page.data(), page.size()) > 0) {
  }
  (void)::fcntl(ends[1], F_SETFL, 0);
  return {UniqueFd{ends[0]}, UniqueFd{ends[1]}};
}

TEST(ChildTest, IsKilledIfItsProgramDoesNotStartInTime) {
  const auto group = full_pipe();
  ChildSpec spec;
  spec.argv = {"/bin/true"};
  spec.join = {group.second.get()};
  spec.start_timeout = milliseconds{200};
  const auto child = Child::start(spec);
  ASSERT_FALSE(child);
  EXPECT_NE(child.error().message.find("start /bin/true: its program did not run within 0.2 s"),
            std::string::npos)
      << child.error().message;
  EXPECT_FALSE(has_children());
}

/// Called in a child between fork and its set-up.
void outlive_the_parent() {
  const pid_t parent = ::getppid();
  (void)::kill(parent, SIGKILL);
  while (::getppid() == parent) (void)::sched_yield();
}

std::string all_of(int fd) {
  std::string text;
  std::array<char, 64> chunk{};
  for (ssize_t n = 0; (n = ::read(fd, chunk.data(), chunk.size())) > 0;) {
    text.append(chunk.data(), static_cast<size_t>(n));
  }
  return text;
}

TEST(ChildTest, RunsNoProgramForAParentThatHasEnded) {
  for (const bool bound : {false, true}) {
    std::array<int, 2> ends{};
    ASSERT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
    const UniqueFd output{ends[0]};
    const pid_t parent = ::fork();
    if (parent == 0) {
      (void)::pthread_atfork(nullptr, nullptr, outlive_the_parent);
      ChildSpec spec{.argv = {"/bin/sh", "-c", "echo runs >&5"}, .die_with_thread = bound};
      spec.descriptors = {{5, ends[1]}};
      ::_exit(Child::start(spec) ? 0 : 1);
    }
    ::close(ends[1]);
    EXPECT_EQ(all_of(output.get()), bound ? "" : "runs\n");
    int status = 0;
    ASSERT_EQ(::waitpid(parent, &status, 0), parent);
    EXPECT_TRUE(WIFSIGNALED(status));
  }
}

TEST(ChildTest, FailedStartsLeaveNoChildForAnyDescriptors) {
  ChildSpec spec;
  spec.argv = {"/nowhere/prog"};
  const auto file = MemoryFile::sealed_copy("any", "text");
  ASSERT_TRUE(file);
  // One of these numbers is the number of the pipe that reports the failure.
  for (int number = 3; number < 40; ++number) spec.descriptors[number] = file->fd();
  EXPECT_FALSE(Child::start(spec));
  EXPECT_FALSE(has_children());
}

}  // namespace
}  // namespace warpsmith
