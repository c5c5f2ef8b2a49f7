// SPDX-License-Identifier: Apache-2.0
// Escape attempts of an agent's command line.
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "sandbox/jail/bubblewrap.hpp"
#include "sandbox/jail/presets.hpp"
#include "sandbox/service/server.hpp"
#include "sandbox/service/shell.hpp"
#include "tests/sandbox/support/sandbox_fixture.hpp"
#include "tests/support/temporary_folder.hpp"

namespace warpsmith::sandbox {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using testing::hang_guard;

class ShellIsolationTest : public ::testing::Test {
 protected:
  ShellResult run(const std::string& command, uint32_t timeout_ms = 120'000) {
    auto result =
        run_shell({workspace_.path(), command, timeout_ms, 20'000, 1U << 30U}, hang_guard());
    if (!result) throw std::runtime_error(result.error().message);
    return *result;
  }
  test_support::TemporaryFolder workspace_;
};

/// The number of processes with the text in their command line.
size_t how_many_run(const std::string& what) {
  size_t count = 0;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator("/proc", error)) {
    std::ifstream file(entry.path() / "cmdline");
    std::stringstream text;
    text << file.rdbuf();
    if (text.str().find(what) != std::string::npos) ++count;
  }
  return count;
}

bool any_runs(const std::string& what) {
  return how_many_run(what) > 0;
}

/// Unique, since another checkout's tests may run at the same time.
std::string seconds_of_our_own() {
  return std::to_string(10'000'000 + ::getpid());
}

TEST_F(ShellIsolationTest, NoJailStartsInAnEndingProcess) {
  const auto refused = [&] {
    refuse_new_jails();
    return !run_shell({workspace_.path(), "true", 120'000, 20'000, 1U << 30U}, hang_guard())
                .has_value();
  };
  EXPECT_EXIT(::_exit(refused() ? 7 : 0), ::testing::ExitedWithCode(7), "");
  EXPECT_EQ(run("echo fine").out, "fine\n");
}

TEST_F(ShellIsolationTest, HasNoNetwork) {
  EXPECT_NE(run("echo x > /dev/tcp/192.0.2.1/80").exit_code, 0);
  EXPECT_EQ(run("grep -c : /proc/net/dev").out, "1\n");  // only the loop-back
}

TEST_F(ShellIsolationTest, WritesNowhereButItsWorkspaceAndTmp) {
  EXPECT_NE(run("touch /usr/x || touch /x || touch /etc/x").exit_code, 0);
  EXPECT_EQ(run("touch /tmp/x /workspace/x").exit_code, 0);
  EXPECT_TRUE(fs::exists(workspace_.path() / "x"));
}

TEST_F(ShellIsolationTest, ReadsNoFileOfTheHost) {
  EXPECT_NE(run("cat /etc/shadow").exit_code, 0);
  EXPECT_NE(run("ls /root /home /work").exit_code, 0);
  EXPECT_NE(run("ln -s /etc/shadow link; cat link").exit_code, 0);
}

/// Within the old one it could write to the terminal that started it.
TEST_F(ShellIsolationTest, HasItsOwnSession) {
  EXPECT_NE(run("cut -d ' ' -f 6 /proc/self/stat").out, "0\n") << "a session from outside";
}

TEST_F(ShellIsolationTest, SeesAndKillsOnlyItself) {
  EXPECT_EQ(run("kill -9 -1; echo still here").out, "still here\n");
  const int seen = std::stoi(run("ls -d /proc/[0-9]* | wc -l").out);
  EXPECT_LE(seen, 6);
}

TEST_F(ShellIsolationTest, MakesNoNamespaceAndMountsNothing) {
  EXPECT_NE(run("unshare -r true").exit_code, 0);
  EXPECT_NE(run("mount -t tmpfs none /tmp").exit_code, 0);
}

TEST_F(ShellIsolationTest, LeavesNoProcess) {
  const std::string sleep = "sleep " + seconds_of_our_own();
  const ShellResult result = run("setsid " + sleep + " & (setsid " + sleep + " &) ; echo gone");
  EXPECT_EQ(result.out, "gone\n");
  EXPECT_FALSE(any_runs(std::string("sleep\0", 6) + seconds_of_our_own()));
}

/// Counts in the background the processes with the text in their command line.
class Census {
 public:
  explicit Census(const std::string& what)
      : thread_([this, what](const std::stop_token& stop) {
          while (!stop.stop_requested()) most_ = std::max(most_.load(), how_many_run(what));
        }) {}
  size_t so_far() const { return most_; }
  size_t most() {
    thread_.request_stop();
    thread_.join();
    return most_;
  }

 private:
  std::atomic<size_t> most_ = 0;
  std::jthread thread_;
};

TEST_F(ShellIsolationTest, BoundsForkBombs) {
  JailSpec spec = shell_jail(workspace_.path());
  spec.argv = {"/bin/true"};
  const auto jail = JailedProcess::start(spec);
  ASSERT_TRUE(jail) << jail.error().message;
  const std::string in_force = (*jail)->report().at("processes");
  if (in_force.starts_with("not limited")) GTEST_SKIP() << "processes: " << in_force;
  const std::string sleep = "sleep " + seconds_of_our_own();
  Census census(sleep);
  const auto bomb =
      start_command({workspace_.path(), "f() { f | f & }; f; " + sleep, 120'000, 20'000, 1U << 30U},
                    false, ShellState::kept);
  ASSERT_TRUE(bomb) << bomb.error().message;
  const Deadline deadline = hang_guard();
  while (census.so_far() <= 20 && !deadline.passed()) (void)(*bomb)->finished(milliseconds{20});
  (void)(*bomb)->finished(milliseconds{500});  // it keeps growing, up to its limit
  const bool ended = !(*bomb)->alive();
  const JailExit exit = (*bomb)->kill();
  const size_t most = census.most();
  EXPECT_TRUE(!ended || exit.exit_code != 0);
  EXPECT_GT(most, 20U) << "the bomb did not go off";
  EXPECT_LE(most, spec.limits.processes + 2) << in_force;  // bubblewrap's own two
  EXPECT_FALSE(any_runs(std::string("sleep\0", 6) + seconds_of_our_own()));
  EXPECT_EQ(run("echo fine").out, "fine\n");
}

TEST_F(ShellIsolationTest, BoundsFilesAndInodes) {
  EXPECT_NE(run("head -c 1000000000 /dev/zero > big").exit_code, 0);
  EXPECT_LE(fs::file_size(workspace_.path() / "big"), 64U << 20U);
  const ShellResult many = run("seq 30000 | xargs touch; sleep 60", 60'000);
  EXPECT_NE(many.err.find("grew beyond"), std::string::npos);
}

TEST_F(ShellIsolationTest, UnlinkedFilesCount) {
  const ShellResult result =
      run("for i in 1 2 3 4 5 6; do "
          "(exec 3>file$i; rm file$i; head -c 60000000 /dev/zero >&3; sleep 60) & done; sleep 60",
          60'000);
  EXPECT_NE(result.err.find("grew beyond"), std::string::npos) << result.err;
}

TEST_F(ShellIsolationTest, FolderThatCannotBeWalkedCountsAsTooLarge) {
  // Deeper than path lengths allow, so it cannot be measured.
  const ShellResult deep = run(
      "deep=$(printf 'dddd/%.0s' {1..700}); mkdir -p $deep && cd $deep && mkdir -p $deep; sleep 60",
      60'000);
  EXPECT_NE(deep.err.find("cannot be read"), std::string::npos) << deep.err;
}

TEST_F(ShellIsolationTest, BoundsMemory) {
  const ShellResult result = run("head -c 4000000000 /dev/zero | tail -c 3900000000 | wc -c");
  EXPECT_NE(result.out, "3900000000\n");
  EXPECT_TRUE(result.out_of_memory || result.err.find("memory exhausted") != std::string::npos)
      << result.exit_code << ": " << result.err;
}

/// Ends after so many files, or when it can make no more.
JailSpec file_maker(const std::string& folder) {
  JailSpec spec = shell_jail("/tmp");
  spec.argv = {"/bin/bash", "-c",
               "cd " + folder + " && for ((i = 0; i < 400000; ++i)); do : > $i || exit 9; done"};
  spec.limits.memory_bytes = 16U << 20U;
  return spec;
}

/// The deadline passes at once if the whole machine freezes meanwhile.
TEST(JailTest, ABusyProcessIsStoppedThoughTheDeadlineHasPassed) {
  JailSpec spec = compile_jail();
  spec.argv = {"/bin/sh", "-c", "while :; do :; done"};
  auto jail = JailedProcess::start(spec);
  ASSERT_TRUE(jail) << jail.error().message;
  for (int i = 0; i < 20; ++i) {
    const auto stopped = (*jail)->stop(Deadline::after(milliseconds{0}));
    ASSERT_TRUE(stopped) << stopped.error().message;
    ASSERT_TRUE((*jail)->resume());
  }
  EXPECT_TRUE((*jail)->alive());
  EXPECT_EQ((*jail)->kill().signal, SIGKILL);
}

TEST(JailTest, ManyFilesInATmpfsCountAgainstTheMemoryLimit) {
  for (const char* folder : {"/tmp", "/dev/shm"}) {
    auto jail = JailedProcess::start(file_maker(folder));
    ASSERT_TRUE(jail) << jail.error().message;
    const auto report = (*jail)->report();
    const bool capped = report.at("memory").starts_with("cgroup");
    const std::string files = capped ? "files charged to the memory limit" : "files not limited";
    EXPECT_NE(report.at("tmp").find(files), std::string::npos) << report.at("tmp");
    EXPECT_NE(report.at("shm").find(files), std::string::npos) << report.at("shm");
    if (!capped) GTEST_SKIP() << "no cgroup limits memory here, and the report says so";
    const auto exit = (*jail)->wait(hang_guard());
    ASSERT_TRUE(exit) << exit.error().message;
    EXPECT_FALSE(exit->timed_out) << folder;
    EXPECT_NE(exit->exit_code, 0) << folder;
    EXPECT_TRUE(exit->out_of_memory) << folder << ": exit code " << exit->exit_code << exit->err;
  }
}

TEST(JailTest, ReportsAJailThatCouldNotBeMade) {
  JailSpec spec;
  spec.kind = JailKind::shell;
  spec.argv = {"/bin/true"};
  spec.capture_output = true;
  spec.read_only = {{"/nowhere/at/all", "/x"}};
  const auto exit = run_jailed(spec, hang_guard());
  ASSERT_FALSE(exit);
  EXPECT_EQ(exit.error().code, ErrorCode::unsupported);
  EXPECT_NE(exit.error().message.find("/nowhere/at/all"), std::string::npos);
}

/// A `bwrap` that is a shell script.
class ScriptedBubblewrap {
 public:
  explicit ScriptedBubblewrap(const std::string& script) : path_(::getenv("PATH")) {
    const std::string program = folder_.path() / "bwrap";
    std::ofstream(program) << "#!/bin/sh\n" + script;
    fs::permissions(program, fs::perms::owner_all);
    (void)::setenv("PATH", (folder_.path().string() + ":" + path_).c_str(), 1);
  }
  ~ScriptedBubblewrap() { (void)::setenv("PATH", path_.c_str(), 1); }
  ScriptedBubblewrap(const ScriptedBubblewrap&) = delete;
  ScriptedBubblewrap& operator=(const ScriptedBubblewrap&) = delete;

 private:
  std::string path_;
  test_support::TemporaryFolder folder_;
};

/// Without a cgroup nothing else would end the child.
TEST(JailTest, AJailThatDoesNotStartInTimeLeavesNoProcess) {
  const ScriptedBubblewrap silent("/bin/sleep " + seconds_of_our_own() + " &\nwait\n");
  JailSpec spec = shell_jail("/tmp");
  spec.argv = {"/bin/true"};
  spec.start_timeout = milliseconds{500};
  const auto jail = JailedProcess::start(spec);
  ASSERT_FALSE(jail);
  EXPECT_NE(jail.error().message.find("did not start in time"), std::string::npos);
  const Deadline deadline = hang_guard();
  while (any_runs(seconds_of_our_own()) && !deadline.passed()) std::this_thread::yield();
  EXPECT_FALSE(any_runs(seconds_of_our_own()));
}

/// As where parts of /proc are covered: the child has begun when bubblewrap finds that out.
TEST(JailTest, TheProbeReportsWhyNoJailCanBeMadeAndTheRemedy) {
  const ScriptedBubblewrap refusing(
      "while [ \"$1\" != --json-status-fd ]; do shift; done\n"
      "/bin/sleep 0.1 &\n"
      "echo \"{ \\\"child-pid\\\": $! }\" > /proc/self/fd/$2\n"
      "wait\n"
      "echo \"bwrap: Can't mount proc on /newroot/proc: Operation not permitted\" >&2\n"
      "exit 1\n");
  const auto report = probe_run_jail("/bin/true", hang_guard());
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().code, ErrorCode::unsupported);
  EXPECT_NE(report.error().message.find("Can't mount proc"), std::string::npos);
  const std::string remedy = jail_remedy(report.error().message, this_container());
  EXPECT_NE(report.error().message.find("; " + remedy), std::string::npos)
      << report.error().message;
}

TEST(JailTest, AFailingProgramIsNoFailureOfTheJail) {
  JailSpec spec = shell_jail("/tmp");
  spec.argv = {"/bin/sh", "-c", "echo 'bwrap: forged' >&2; exit 1"};
  const auto exit = run_jailed(spec, hang_guard());
  ASSERT_TRUE(exit) << exit.error().message;
  EXPECT_EQ(exit->exit_code, 1);
  EXPECT_FALSE(exit->never_began);
}

TEST(JailTest, RunsOnlyOnItsCores) {
  JailSpec spec = shell_jail("/tmp");
  spec.cores = {sched_getcpu()};
  spec.argv = {"/bin/grep", "Cpus_allowed_list", "/proc/self/status"};
  const auto exit = run_jailed(spec, hang_guard());
  ASSERT_TRUE(exit) << exit.error().message;
  EXPECT_EQ(exit->out, "Cpus_allowed_list:\t" + std::to_string(spec.cores[0]) + '\n');
}

TEST(JailTest, OnlyTheWorkerMayChangeItsCores) {
  for (const JailKind kind :
       {JailKind::shell, JailKind::compile, JailKind::launch, JailKind::worker}) {
    JailSpec spec = shell_jail("/tmp");
    spec.kind = kind;
    spec.cores = {sched_getcpu()};
    spec.argv = {"/bin/sh", "-c", "exec taskset -c " + std::to_string(spec.cores[0]) + " true"};
    const auto exit = run_jailed(spec, hang_guard());
    ASSERT_TRUE(exit) << exit.error().message;
    EXPECT_EQ(exit->exit_code == 0, kind == JailKind::worker)
        << static_cast<int>(kind) << exit->err;
  }
}

TEST_F(ShellIsolationTest, DumpsNoCore) {
  EXPECT_EQ(run("ulimit -c").out, "0\n");
}

}  // namespace
}  // namespace warpsmith::sandbox
