// SPDX-License-Identifier: Apache-2.0
// A kept service: the next client finds it, and it ends when it should.
#include "sandbox/service/kept_service.hpp"

#include <gtest/gtest.h>
#include <signal.h>

#include <thread>

#include "tests/sandbox/support/sandbox_fixture.hpp"
#include "tests/support/temporary_folder.hpp"

namespace warpsmith::sandbox {
namespace {

using testing::hang_guard;
using testing::is_running;

class KeptServiceTest : public ::testing::Test {
 protected:
  SandboxOptions options(uint32_t keep_s = 600) const {
    SandboxOptions wanted;
    wanted.program = testing::sandbox_program();
    wanted.cache_dir = scratch_.path() / "cache";
    wanted.keep_s = keep_s;
    return wanted;
  }
  Client start(uint32_t keep_s = 600) const {
    auto client = Client::start(options(keep_s), hang_guard());
    if (!client) throw std::runtime_error(client.error().message);
    return std::move(*client);
  }
  static pid_t service_of(Client& client) {
    const auto health = client.health(hang_guard());
    if (!health) throw std::runtime_error(health.error().message);
    return std::stoi(health->facts.at("pid"));
  }
  static bool ends(pid_t pid) {
    const Deadline patience = hang_guard();
    while (is_running(pid) && !patience.passed()) {
      std::this_thread::sleep_for(std::chrono::milliseconds{20});
    }
    return !is_running(pid);
  }
  /// The service listens again soon after its client has left.
  void await_idle() const {
    const Deadline patience = hang_guard();
    while (!std::filesystem::exists(kept_socket(options())) && !patience.passed()) {
      std::this_thread::sleep_for(std::chrono::milliseconds{5});
    }
  }
  void end_by_hand(pid_t pid) const { (void)::kill(pid, SIGTERM); }

  test_support::TemporaryFolder scratch_;
};

TEST_F(KeptServiceTest, TheNextClientFindsIt) {
  pid_t first = 0;
  {
    Client client = start();
    EXPECT_EQ(client.pid(), 0) << "it is no child of this process";
    first = service_of(client);
  }
  await_idle();
  Client client = start();
  EXPECT_EQ(service_of(client), first);
  end_by_hand(first);
}

TEST_F(KeptServiceTest, ASecondClientGetsItsOwnService) {
  Client one = start();
  Client two = start();
  const pid_t kept = service_of(one);
  EXPECT_NE(service_of(two), kept);
  end_by_hand(kept);
}

TEST_F(KeptServiceTest, EndsWhenNoClientComes) {
  pid_t pid = 0;
  {
    Client client = start(5);
    pid = service_of(client);
  }
  EXPECT_TRUE(ends(pid));
  EXPECT_FALSE(std::filesystem::exists(kept_socket(options(5))));
}

TEST_F(KeptServiceTest, EndsWithAClientThatLeavesDuringARequest) {
  const auto ender = std::make_shared<EndSwitch>();
  auto client = Client::start(options(), hang_guard(), ender);
  ASSERT_TRUE(client) << client.error().message;
  const pid_t pid = service_of(*client);
  const std::string mark = scratch_.path() / "started";
  std::thread leaves([&] {
    const Deadline patience = hang_guard();
    while (!std::filesystem::exists(mark) && !patience.passed()) std::this_thread::yield();
    ender->end_services();
  });
  EXPECT_FALSE(client->shell(
      {scratch_.path(), "touch started; sleep 600", 600'000, 1000, 1U << 30U}, hang_guard()));
  leaves.join();
  EXPECT_TRUE(client->lost());
  EXPECT_TRUE(ends(pid));
}

TEST_F(KeptServiceTest, AnEndedServiceIsReplaced) {
  pid_t first = 0;
  {
    Client client = start();
    first = service_of(client);
  }
  await_idle();
  (void)::kill(first, SIGKILL);
  ASSERT_TRUE(ends(first));
  EXPECT_TRUE(std::filesystem::exists(kept_socket(options()))) << "its socket file stays";
  Client client = start();
  const pid_t second = service_of(client);
  EXPECT_NE(second, first);
  end_by_hand(second);
}

TEST_F(KeptServiceTest, OtherOptionsOrVariablesMeanAnotherService) {
  const auto socket = kept_socket(options());
  SandboxOptions other = options();
  other.settings.numerics = Numerics::paper;
  EXPECT_NE(kept_socket(other), socket);
  ::setenv("CUDA_VISIBLE_DEVICES", "7", 1);
  EXPECT_NE(kept_socket(options()), socket);
  ::unsetenv("CUDA_VISIBLE_DEVICES");
  ::setenv("TERM_SESSION", "7", 1);
  EXPECT_EQ(kept_socket(options()), socket);
}

}  // namespace
}  // namespace warpsmith::sandbox
