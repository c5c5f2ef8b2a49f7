// SPDX-License-Identifier: Apache-2.0
#include "commands/check_input.hpp"

#include <gtest/gtest.h>

namespace warpsmith::commands {
namespace {

EvaluateCall call_of(const std::string& task, const std::string& solution) {
  CheckArguments arguments;
  arguments.place = "configs/tasks/micro/kernels/" + solution;
  arguments.task = "configs/tasks/micro/" + task;
  return check_call(arguments).value();
}

TEST(CheckInputTest, ATaskIsOnTheDeviceOfItsContract) {
  const EvaluateCall on_gpu = call_of("convolution/causal_conv_1d.py", "device/causal_conv_1d");
  EXPECT_EQ(on_gpu.submission.contract, "device");
  EXPECT_EQ(on_gpu.task.device, DeviceClass::cuda);
  const EvaluateCall on_cpu = call_of("convolution/causal_conv_1d.py", "cpu/causal_conv_1d");
  EXPECT_EQ(on_cpu.submission.contract, "cpu");
  EXPECT_EQ(on_cpu.task.device, DeviceClass::cpu);
}

}  // namespace
}  // namespace warpsmith::commands
