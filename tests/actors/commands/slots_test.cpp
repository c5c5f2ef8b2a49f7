// SPDX-License-Identifier: Apache-2.0
#include "actors/commands/slots.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace warpsmith::actors {
namespace {

using testing::HasSubstr;

TEST(SlotsTest, AConfigurationThatIsNotValidIsRefusedByItsKey) {
  SandboxConfig config;
  config.contract = "device";
  config.gpus = 4;
  config.count = 2;
  const auto slots = take_slots(config);
  ASSERT_FALSE(slots);
  EXPECT_EQ(slots.error().code, ErrorCode::invalid_config);
  EXPECT_THAT(slots.error().message, HasSubstr("sandbox.count: expected at least one slot"));
}

TEST(SlotsTest, ContractHostNeedsAGpuForTasksOfGpusAlone) {
  EXPECT_EQ(slot_contract("host", DeviceClass::cpu), "cpu");
  EXPECT_EQ(slot_contract("host", DeviceClass::cuda), "host");
  EXPECT_EQ(slot_contract("device", DeviceClass::cpu), "device");
}

}  // namespace
}  // namespace warpsmith::actors
