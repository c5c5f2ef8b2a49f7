// SPDX-License-Identifier: Apache-2.0
// Readings of a board, from a fake NVML and, if there is a GPU, from the real one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/cuda/driver.hpp"
#include "runtime/cuda/nvml.hpp"

namespace warpsmith::cuda {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(ClocksTest, ReasonsHaveNvmlsNames) {
  EXPECT_THAT(reason_names(0), IsEmpty());
  EXPECT_THAT(reason_names(0x1 | 0x4 | 0x80),
              ElementsAre("gpu_idle", "sw_power_cap", "hw_power_brake_slowdown"));
  EXPECT_THAT(reason_names(0x100 | 0x1000), ElementsAre("display_clock_setting", "bit 12"));
}

TEST(ClocksTest, PowerHeatAndHardwareCountAsSlowingButIdlenessDoesNot) {
  for (const char* reason : {"sw_power_cap", "hw_slowdown", "sw_thermal_slowdown",
                             "hw_thermal_slowdown", "hw_power_brake_slowdown"}) {
    EXPECT_TRUE(slows_down(reason)) << reason;
  }
  for (const char* reason : {"gpu_idle", "applications_clocks_setting", "sync_boost"}) {
    EXPECT_FALSE(slows_down(reason)) << reason;
  }
}

TEST(ClocksTest, SummaryCoversTheReadingsThatExist) {
  const std::vector<ClockSample> samples{{.sm_mhz = 1980, .celsius = 40, .reasons = 0x4},
                                         {.sm_mhz = 1200, .celsius = 44, .reasons = 0x4 | 0x20},
                                         {.sm_mhz = 1965, .reasons = std::nullopt}};
  const ClockSummary summary = summary_of(samples);
  EXPECT_EQ(summary.lowest_sm_mhz, 1200);
  EXPECT_EQ(summary.median_sm_mhz, 1965);
  EXPECT_EQ(summary.highest_celsius, 44);
  EXPECT_FALSE(summary.highest_power_w);
  EXPECT_EQ(summary.reasons,
            (std::map<std::string, int>{{"sw_power_cap", 2}, {"sw_thermal_slowdown", 1}}));
  EXPECT_FALSE(summary_of({}).lowest_sm_mhz);
}

TEST(ClocksTest, ReadsTheLibrarysValues) {
  const auto clocks = open_clocks("0000:1b:00.0", {WARPSMITH_FAKE_NVML});
  ASSERT_TRUE(clocks) << clocks.error().message;
  const ClockSample sample = (*clocks)->read();
  EXPECT_EQ(sample.sm_mhz, 1980);
  EXPECT_EQ(sample.memory_mhz, 2619);
  EXPECT_EQ(sample.celsius, 41);
  EXPECT_EQ(sample.reasons, 0x4U);
  EXPECT_FALSE(sample.power_w);
}

TEST(ClocksTest, SaysWhyThereAreNoReadings) {
  const auto absent = open_clocks("0000:1b:00.0", {"libno-such-nvml.so.1"});
  ASSERT_FALSE(absent);
  EXPECT_THAT(absent.error().message, HasSubstr("no NVML: libno-such-nvml.so.1"));
  const auto other = open_clocks("0000:99:00.0", {WARPSMITH_FAKE_NVML});
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().code, ErrorCode::not_found);
  EXPECT_THAT(other.error().message, HasSubstr("0000:99:00.0"));
  const auto nameless = open_clocks("", {WARPSMITH_FAKE_NVML});
  ASSERT_FALSE(nameless);
  EXPECT_THAT(nameless.error().message, HasSubstr("PCI address"));
  EXPECT_FALSE(open_clocks("0000:1b:00.0", {"libc.so.6"}));
}

TEST(ClocksTest, EachGpuHasItsReadings) {
  const auto driver = Driver::load();
  if (!driver) GTEST_SKIP() << driver.error().message;
  const auto gpus = driver->gpus();
  ASSERT_TRUE(gpus) << gpus.error().message;
  for (const Gpu& gpu : *gpus) {
    const auto clocks = open_clocks(gpu.bus_address);
    if (!clocks) GTEST_SKIP() << clocks.error().message;
    const auto start = std::chrono::steady_clock::now();
    const ClockSample sample = (*clocks)->read();
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
    std::printf("%s: SM %d MHz, a reading of %.3f ms\n", gpu.bus_address.c_str(),
                sample.sm_mhz.value_or(0), took.count());
    EXPECT_GT(sample.sm_mhz.value_or(0), 0);
    EXPECT_GT(sample.memory_mhz.value_or(0), 0);
  }
}

}  // namespace
}  // namespace warpsmith::cuda
