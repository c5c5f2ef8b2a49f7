// SPDX-License-Identifier: Apache-2.0
#include "sandbox/contract/cpu/cpu_runner.hpp"

#include <gtest/gtest.h>

#include "sandbox/protocol/wire.hpp"

namespace warpsmith::sandbox {
namespace {

TEST(RunnerPlanTest, RefusesTensorsOutsideItsMemory) {
  RunnerPlan plan;
  plan.layout.sets = 1;
  plan.layout.input_stride = 4096;
  plan.layout.slots = {{64, 4096, false}};
  EXPECT_FALSE(unpack_body<RunnerPlan>(pack_body(plan)));
  plan.layout.slots = {{64, 4032, false}};
  EXPECT_TRUE(unpack_body<RunnerPlan>(pack_body(plan)));
}

}  // namespace
}  // namespace warpsmith::sandbox
