// SPDX-License-Identifier: Apache-2.0
#include "commands/slots.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/cuda/driver.hpp"

namespace warpsmith::commands {
namespace {

using testing::HasSubstr;

TEST(SlotsTest, AnInvalidConfigurationIsRefusedByKey) {
  SandboxConfig config;
  config.contract = "device";
  config.gpus = 4;
  config.count = 2;
  const auto slots = take_slots(config);
  ASSERT_FALSE(slots);
  EXPECT_EQ(slots.error().code, ErrorCode::invalid_config);
  EXPECT_THAT(slots.error().message, HasSubstr("sandbox.count: expected at least one slot"));
}

TEST(SlotsTest, ContractHostNeedsAGpuOnlyForGpuTasks) {
  EXPECT_EQ(slot_contract("host", DeviceClass::cpu), "cpu");
  EXPECT_EQ(slot_contract("host", DeviceClass::cuda), "host");
  EXPECT_EQ(slot_contract("device", DeviceClass::cpu), "device");
}

TEST(SlotsTest, ContractHostRunsOnTheTasksDevice) {
  EXPECT_EQ(host_device({.code = "DEVICE = \"cuda\"\n"}), DeviceClass::cuda);
  EXPECT_EQ(host_device({.code = "DEVICE = \"cpu\"\n"}), DeviceClass::cpu);
  const auto driver = cuda::Driver::load();
  EXPECT_EQ(host_device({}), driver ? DeviceClass::cuda : DeviceClass::cpu);
}

}  // namespace
}  // namespace warpsmith::commands
