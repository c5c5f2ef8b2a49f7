// SPDX-License-Identifier: Apache-2.0
// Background jobs of a service as a process: output, bounds, the pause during a measurement, the
// end.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <sstream>
#include <thread>

#include "sandbox/service/client.hpp"
#include "tests/sandbox/support/sandbox_fixture.hpp"
#include "tests/support/temporary_folder.hpp"

namespace warpsmith::sandbox {
namespace {

using std::chrono::milliseconds;
using test_support::TemporaryFolder;
using testing::hang_guard;

class JobTest : public ::testing::Test {
 protected:
  static Client start() {
    SandboxOptions options;
    options.program = testing::sandbox_program();
    auto client = Client::start(options, hang_guard());
    if (!client) throw std::runtime_error(client.error().message);
    return std::move(*client);
  }
  JobRequest request(JobAction action, uint32_t id = 1, const std::string& command = {}) const {
    JobRequest request;
    request.action = action;
    request.id = id;
    request.most_jobs = 2;
    request.shell = {scratch_.path(), command, 600'000, 10'000, 1U << 30U};
    return request;
  }
  JobReport ask(Client& client, const JobRequest& request) const {
    auto report = client.job(request, hang_guard());
    if (!report) throw std::runtime_error(report.error().message);
    return *report;
  }
  JobReport begin(Client& client, const std::string& command, uint32_t id = 1) const {
    return ask(client, request(JobAction::start, id, command));
  }
  /// Looks until the condition holds; collects what was written.
  template <class Condition>
  JobReport look_until(Client& client, Condition condition, uint32_t id = 1) const {
    const Deadline patience = hang_guard();
    std::string out;
    while (true) {
      JobReport report = ask(client, request(JobAction::look, id));
      out += report.result.out;
      report.result.out = out;
      if (condition(report) || patience.passed()) return report;
      std::this_thread::sleep_for(milliseconds{20});
    }
  }
  /// The processes whose command line has the number of seconds.
  static size_t sleepers(const std::string& seconds) {
    size_t count = 0;
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator("/proc", error)) {
      std::ifstream file(entry.path() / "cmdline");
      std::stringstream text;
      text << file.rdbuf();
      count += text.str().find(seconds) != std::string::npos ? 1 : 0;
    }
    return count;
  }
  /// Unique, since another checkout's tests may run at the same time.
  static std::string own_seconds() { return std::to_string(20'000'000 + ::getpid()); }
  static bool vanish(const std::string& seconds) {
    const Deadline patience = hang_guard();
    while (sleepers(seconds) > 0 && !patience.passed()) ::sched_yield();
    return sleepers(seconds) == 0;
  }

  TemporaryFolder scratch_;
};

bool is_over(const JobReport& report) {
  return report.state == JobState::over;
}

TEST_F(JobTest, RunsDuringCommandsAndIsReadPieceByPiece) {
  Client client = start();
  EXPECT_EQ(
      begin(client, "echo one; until test -e go; do sleep 0.05; done; echo two; exit 3").state,
      JobState::running);
  const JobReport first =
      look_until(client, [](const JobReport& r) { return !r.result.out.empty(); });
  EXPECT_EQ(first.result.out, "one\n");
  EXPECT_EQ(first.state, JobState::running);
  const auto beside = client.shell(
      {scratch_.path(), "touch go; echo beside", 120'000, 1000, 1U << 30U}, hang_guard());
  ASSERT_TRUE(beside);
  EXPECT_EQ(beside->out, "beside\n");
  const JobReport last = look_until(client, is_over);
  EXPECT_EQ(last.result.out, "two\n");
  EXPECT_EQ(last.result.exit_code, 3);
  EXPECT_EQ(ask(client, request(JobAction::look)).state, JobState::unknown);
}

TEST_F(JobTest, TheNumberOfJobsIsLimitedUntilOneIsReadToItsEnd) {
  Client client = start();
  begin(client, "sleep 1000", 1);
  begin(client, "true", 2);
  EXPECT_EQ(begin(client, "true", 3).state, JobState::refused);
  look_until(client, is_over, 2);
  EXPECT_EQ(begin(client, "true", 3).state, JobState::running);
}

TEST_F(JobTest, AFloodIsCutAndALateJobIsKilled) {
  Client client = start();
  begin(client, "yes");
  const JobReport flood =
      look_until(client, [](const JobReport& r) { return r.result.output_cut; });
  EXPECT_TRUE(flood.result.output_cut);
  EXPECT_EQ(flood.state, JobState::running);
  JobRequest late = request(JobAction::start, 2, "sleep 1000");
  late.shell.timeout_ms = 200;
  ask(client, late);
  EXPECT_TRUE(look_until(client, is_over, 2).result.timed_out);
  EXPECT_EQ(ask(client, request(JobAction::end)).state, JobState::over);
}

TEST_F(JobTest, AJobThatFillsTheWorkspaceIsKilled) {
  Client client = start();
  begin(client, "for i in 1 2 3 4 5; do head -c 60000000 /dev/zero > $i; done; sleep 1000");
  EXPECT_THAT(look_until(client, is_over).result.err,
              ::testing::HasSubstr("grew beyond its limit"));
}

/// The shell, its children and what has left its session.
TEST_F(JobTest, EveryProcessOfAJobIsPausedUntilItIsResumed) {
  Client client = start();
  begin(
      client,
      "count() { while :; do echo x >> $1; done; }; count a & (setsid bash -c 'while :; do echo x "
      ">> b; done' &); count c");
  const auto size_of = [&] {
    uintmax_t all = 0;
    for (const char* name : {"a", "b", "c"}) {
      std::error_code none;
      const auto size = std::filesystem::file_size(scratch_.path() / name, none);
      if (none) return uintmax_t{0};
      all += size;
    }
    return all;
  };
  const Deadline patience = hang_guard();
  while (size_of() == 0 && !patience.passed()) ::sched_yield();
  ASSERT_GT(size_of(), 0U);
  ask(client, request(JobAction::pause));
  const uintmax_t then = size_of();
  std::this_thread::sleep_for(milliseconds{300});
  EXPECT_EQ(size_of(), then);
  ask(client, request(JobAction::resume));
  while (size_of() == then && !patience.passed()) ::sched_yield();
  EXPECT_GT(size_of(), then);
}

TEST_F(JobTest, ASleepingJobOutlivesAPause) {
  Client client = start();
  begin(client, "echo begun; sleep 1000");
  look_until(client, [](const JobReport& r) { return !r.result.out.empty(); });
  ask(client, request(JobAction::pause));
  std::this_thread::sleep_for(milliseconds{500});
  ask(client, request(JobAction::resume));
  const JobReport report = ask(client, request(JobAction::look));
  EXPECT_EQ(report.state, JobState::running) << report.result.exit_code << report.result.err;
}

TEST_F(JobTest, NoProcessOutlivesItsWorkspaceOrItsClient) {
  const std::string command = "setsid sleep " + own_seconds() + " & sleep " + own_seconds();
  {
    Client client = start();
    begin(client, command);
    look_until(client, [](const JobReport&) { return sleepers(own_seconds()) > 0; });
    EXPECT_GT(sleepers(own_seconds()), 0U);
    ask(client, request(JobAction::forget));
    EXPECT_EQ(sleepers(own_seconds()), 0U);
    begin(client, command);
  }
  EXPECT_TRUE(vanish(own_seconds()));
}

TEST_F(JobTest, NoProcessOutlivesAKilledServiceOrAKilledClient) {
  const std::string command = "echo begun; exec sleep " + own_seconds();
  Client client = start();
  begin(client, command);
  look_until(client, [](const JobReport& r) { return !r.result.out.empty(); });
  ASSERT_EQ(::kill(client.pid(), SIGKILL), 0);
  EXPECT_TRUE(vanish(own_seconds()));
  const pid_t child = ::fork();
  if (child == 0) {
    Client other = start();
    begin(other, command);
    look_until(other, [](const JobReport& r) { return !r.result.out.empty(); });
    std::ofstream(scratch_.path() / "begun") << "yes";
    ::pause();
    ::_exit(0);
  }
  const Deadline patience = hang_guard();
  while (!std::filesystem::exists(scratch_.path() / "begun") && !patience.passed()) {
    ::sched_yield();
  }
  EXPECT_GT(sleepers(own_seconds()), 0U);
  ASSERT_EQ(::kill(child, SIGKILL), 0);
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  EXPECT_TRUE(vanish(own_seconds()));
}

}  // namespace
}  // namespace warpsmith::sandbox
