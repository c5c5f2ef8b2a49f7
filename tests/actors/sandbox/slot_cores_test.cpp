// SPDX-License-Identifier: Apache-2.0
#include "actors/sandbox/slot_cores.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <thread>

#include "actors/sandbox/sandbox_backend.hpp"

namespace warpsmith::actors {
namespace {

using testing::HasSubstr;

SandboxConfig slots(int64_t count, int64_t first_core = -1) {
  SandboxConfig config;
  config.count = count;
  config.first_core = first_core;
  return config;
}

size_t cores_of_thread(pid_t thread) {
  cpu_set_t set;
  CPU_ZERO(&set);
  EXPECT_EQ(::sched_getaffinity(thread, sizeof set, &set), 0);
  return static_cast<size_t>(CPU_COUNT(&set));
}

TEST(SlotCoresTest, TheLastAllowedCoresAreTheSlots) {
  EXPECT_EQ(core_of_slot(slots(2), 0, {2, 3, 8}).value(), 8);
  EXPECT_EQ(core_of_slot(slots(2), 1, {2, 3, 8}).value(), 3);
}

TEST(SlotCoresTest, FirstCoreCountsFromTheMachinesCores) {
  EXPECT_EQ(core_of_slot(slots(2, 2), 1, {2, 3, 8}).value(), 3);
}

TEST(SlotCoresTest, TooFewCoresNameTheKeyAndTheCores) {
  const auto crowded = core_of_slot(slots(3), 2, {2, 3});
  ASSERT_FALSE(crowded);
  EXPECT_EQ(crowded.error().code, ErrorCode::invalid_config);
  EXPECT_THAT(crowded.error().message, HasSubstr("sandbox.count = 3"));
  EXPECT_THAT(crowded.error().message, HasSubstr("2 (2,3)"));
  const auto outside = core_of_slot(slots(1, 0), 0, {2, 3});
  ASSERT_FALSE(outside);
  EXPECT_THAT(outside.error().message, HasSubstr("sandbox.first_core = 0"));
}

TEST(SlotCoresTest, OtherServicesStayOffTheSlotsCores) {
  const std::vector<int>& all = allowed_cores();
  const SandboxConfig one = slots(1);
  std::vector<int> beside = options_outside_slots(one, "").cores;
  EXPECT_EQ(beside.size(), all.size() - 1);
  EXPECT_FALSE(std::ranges::count(beside, core_of(one, 0)));
  EXPECT_TRUE(options_outside_slots(slots(static_cast<int64_t>(all.size())), "").cores.empty());
}

TEST(SlotCoresTest, ASlotCompilesOnNoOtherSlotsCore) {
  const auto count = static_cast<int64_t>(allowed_cores().size());
  for (const SandboxConfig& config : {slots(1), slots(count)}) {
    for (uint32_t slot = 0; slot < config.count; ++slot) {
      const std::vector<int> cores = slot_options(config, "", slot).cores;
      EXPECT_EQ(std::ssize(cores), count - config.count + 1);
      for (uint32_t other = 0; other < config.count; ++other) {
        EXPECT_EQ(std::ranges::count(cores, core_of(config, other)), other == slot ? 1 : 0);
      }
    }
  }
}

TEST(SlotCoresTest, MoreSlotsThanCoresLeaveNone) {
  SandboxConfig config;
  config.count = 4096;
  EXPECT_TRUE(cores_outside_slots(config).empty());
}

TEST(SlotCoresTest, AllThreadsLeaveTheSlotsCoresAndReturn) {
  const size_t all = allowed_cores().size();
  if (all < 2) GTEST_SKIP() << "one core: there is none to leave";
  std::atomic<pid_t> id = 0;
  std::jthread other([&id](const std::stop_token& stop) {
    id = ::gettid();
    while (!stop.stop_requested()) std::this_thread::yield();
  });
  while (id == 0) std::this_thread::yield();
  leave_slot_cores(slots(1));
  EXPECT_EQ(cores_of_thread(0), all - 1);
  EXPECT_EQ(cores_of_thread(id), all - 1);
  use_allowed_cores();
  EXPECT_EQ(cores_of_thread(0), all);
  EXPECT_EQ(cores_of_thread(id), all);
}

TEST(SlotCoresTest, TheRanksHaveNoMoreThreadsThanCores) {
  const auto all = std::ssize(allowed_cores());
  LearnerConfig config;
  config.threads = 1;
  EXPECT_EQ(threads_within_cores(config), 1);
  config.threads = all + 1;
  EXPECT_EQ(threads_within_cores(config), all);
  config.gpus = 2;
  EXPECT_EQ(threads_within_cores(config), std::max<int64_t>(1, all / 2));
}

TEST(SlotCoresTest, ThisProcessHasACore) {
  EXPECT_FALSE(allowed_cores().empty());
  EXPECT_TRUE(check_slot_cores(slots(1)));
  EXPECT_NE(check_slot_cores(slots(4096)).error().message.find("sandbox.count = 4096: "),
            std::string::npos);
  EXPECT_NE(check_slot_cores(slots(4096), SlotsOf::command)
                .error()
                .message.find("--slots 4096: expected at most "),
            std::string::npos);
}

}  // namespace
}  // namespace warpsmith::actors
