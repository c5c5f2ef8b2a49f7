// SPDX-License-Identifier: Apache-2.0
// The service as a process: it answers, and it ends with its client.
#include "sandbox/service/client.hpp"

#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <thread>

#include "sandbox/jail/jail_limits.hpp"
#include "tests/sandbox/support/sandbox_fixture.hpp"
#include "tests/support/temporary_folder.hpp"

namespace warpsmith::sandbox {
namespace {

using std::chrono::milliseconds;
using test_support::TemporaryFolder;
using testing::hang_guard;
using testing::in_seconds;
using testing::is_running;

class ServiceTest : public ::testing::Test {
 protected:
  Client start(std::shared_ptr<EndSwitch> ender = nullptr, std::vector<int> cores = {}) {
    SandboxOptions options;
    options.cores = std::move(cores);
    options.program = testing::sandbox_program();
    options.cache_dir = scratch_.path() / "cache";
    auto client = Client::start(options, hang_guard(), std::move(ender));
    if (!client) throw std::runtime_error(client.error().message);
    return std::move(*client);
  }
  ShellResult shell(Client& client, const std::string& command, uint32_t timeout_ms = 120'000) {
    const auto result =
        client.shell({scratch_.path(), command, timeout_ms, 10'000, 1U << 30U}, hang_guard());
    if (!result) throw std::runtime_error(result.error().message);
    return *result;
  }
  /// Waits until a command that begins with `touch started` runs.
  void await_start() const {
    const Deadline patience = hang_guard();
    while (!std::filesystem::exists(scratch_.path() / "started") && !patience.passed()) {
      ::sched_yield();
    }
  }
  TemporaryFolder scratch_;
};

TEST_F(ServiceTest, ReportsAFullJail) {
  if (const auto here = probe_cgroups(); !here) GTEST_SKIP() << here.error().message;
  Client client = start();
  const auto health = client.health(hang_guard());
  ASSERT_TRUE(health) << health.error().message;
  EXPECT_EQ(health->facts.at("full_jail"), "yes");
  EXPECT_EQ(health->facts.at("pid"), std::to_string(client.pid()));
}

TEST_F(ServiceTest, RunsCommandsOnTheGivenCores) {
  const int core = ::sched_getcpu();
  const std::string asked = "grep Cpus_allowed_list: /proc/self/status | cut -f 2";
  Client beside = start(nullptr, {core});
  EXPECT_EQ(shell(beside, asked).out, std::to_string(core) + '\n');
  EXPECT_EQ(shell(beside, "taskset -pc 0-4095 $$ > /dev/null; nproc").out, "1\n");
  Client anywhere = start();
  EXPECT_EQ(shell(anywhere, "nproc").out,
            std::to_string(std::thread::hardware_concurrency()) + '\n');
}

TEST_F(ServiceTest, RunsCommandsOverTheWorkspace) {
  Client client = start();
  const ShellResult result = shell(client, "echo text > file; pwd; id -u; exit 3");
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_EQ(result.out, "/workspace\n65534\n");
  std::ifstream file(scratch_.path() / "file");
  std::string content;
  file >> content;
  EXPECT_EQ(content, "text");
}

TEST_F(ServiceTest, CutsFloodsAndEndsHangs) {
  Client client = start();
  const ShellResult flood = shell(client, "head -c 100000000 /dev/zero");
  EXPECT_TRUE(flood.output_cut);
  EXPECT_EQ(flood.out.size(), 10'000U);
  const ShellResult hang = shell(client, "sleep 1000", 200);
  EXPECT_TRUE(hang.timed_out);
  EXPECT_EQ(shell(client, "echo fine").out, "fine\n");
}

TEST_F(ServiceTest, ACommandHasTheMemoryOfItsRequest) {
  Client client = start();
  const auto grow = [&](uint64_t bytes) {
    const auto result =
        client.shell({scratch_.path(), "head -c 200000000 /dev/zero | tail -c 200000000 | wc -c",
                      10'000, 10'000, bytes},
                     hang_guard());
    if (!result) throw std::runtime_error(result.error().message);
    return result->out;
  };
  EXPECT_EQ(grow(1ULL << 30U), "200000000\n");
  EXPECT_NE(grow(64ULL << 20U), "200000000\n");
}

TEST_F(ServiceTest, EndsWithItsClient) {
  pid_t service = 0;
  {
    Client client = start();
    service = client.pid();
    EXPECT_EQ(::kill(service, 0), 0);
  }
  EXPECT_NE(::kill(service, 0), 0);
}

TEST_F(ServiceTest, IsReportedLostAfterKill) {
  Client client = start();
  ASSERT_EQ(::kill(client.pid(), SIGKILL), 0);
  const Judgement judgement = client.evaluate({}, hang_guard());
  ASSERT_TRUE(std::holds_alternative<InfraFailure>(judgement));
  EXPECT_EQ(std::get<InfraFailure>(judgement).kind, InfraKind::sandbox_lost);
  EXPECT_TRUE(client.lost());
}

TEST_F(ServiceTest, IsLostAfterACallPassesItsDeadline) {
  Client client = start();
  ASSERT_EQ(::kill(client.pid(), SIGSTOP), 0);
  const Judgement judgement = client.evaluate({}, Deadline::after(milliseconds{300}));
  ASSERT_TRUE(std::holds_alternative<InfraFailure>(judgement));
  EXPECT_EQ(std::get<InfraFailure>(judgement).kind, InfraKind::deadline);
  EXPECT_TRUE(client.lost());
}

TEST_F(ServiceTest, EndsWithItsJailsIfItsClientIsKilled) {
  std::array<int, 2> pipe{};
  ASSERT_EQ(::pipe(pipe.data()), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    Client client = start();
    const pid_t service = client.pid();
    (void)!::write(pipe[1], &service, sizeof service);
    (void)client.shell({scratch_.path(), "touch started; sleep 1000", 600'000, 1000, 1U << 30U},
                       in_seconds(600));
    ::_exit(0);
  }
  ::close(pipe[1]);
  pid_t service = 0;
  ASSERT_EQ(::read(pipe[0], &service, sizeof service), static_cast<ssize_t>(sizeof service));
  await_start();
  ASSERT_EQ(::kill(child, SIGKILL), 0);
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  // The service is an orphan now: it has ended or is a zombie of init.
  const Deadline patience = hang_guard();
  while (is_running(service) && !patience.passed()) ::sched_yield();
  EXPECT_FALSE(is_running(service));
  ::close(pipe[0]);
}

TEST_F(ServiceTest, EndsDuringACallWhenItsSwitchEndsServices) {
  const auto ender = std::make_shared<EndSwitch>();
  Client client = start(ender);
  std::thread thrower([&] {
    await_start();
    ender->end_services();
  });
  const auto result = client.shell(
      {scratch_.path(), "touch started; sleep 1000", 600'000, 1000, 1U << 30U}, in_seconds(600));
  thrower.join();
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::peer_lost);
  const Deadline patience = hang_guard();
  while (is_running(client.pid()) && !patience.passed()) ::sched_yield();
  EXPECT_FALSE(is_running(client.pid()));
  EXPECT_THROW(start(ender), std::runtime_error) << "no service starts after the switch ended them";
}

TEST_F(ServiceTest, ATerminalsSignalsReachOnlyTheClient) {
  Client client = start();
  EXPECT_EQ(::getpgid(client.pid()), client.pid());
  EXPECT_NE(::getpgid(0), client.pid());
}

TEST_F(ServiceTest, AKilledServiceLeavesNoControlGroups) {
  if (const auto here = probe_cgroups(); !here) GTEST_SKIP() << here.error().message;
  std::string group;
  {
    Client client = start();
    group = "/warpsmith-" + std::to_string(client.pid()) + '-';
    std::thread striker([&] {
      await_start();
      (void)::kill(client.pid(), SIGKILL);
    });
    const auto result = client.shell(
        {scratch_.path(), "touch started; sleep 1000", 600'000, 1000, 1U << 30U}, hang_guard());
    striker.join();
    ASSERT_FALSE(result);
  }
  for (const std::string& stale : stale_cgroups()) {
    EXPECT_EQ(stale.find(group), std::string::npos) << stale;
  }
}

TEST_F(ServiceTest, SeveralServicesCoexist) {
  Client first = start();
  Client second = start();
  EXPECT_NE(first.pid(), second.pid());
  EXPECT_EQ(shell(first, "echo 1").out, "1\n");
  EXPECT_EQ(shell(second, "echo 2").out, "2\n");
}

}  // namespace
}  // namespace warpsmith::sandbox
