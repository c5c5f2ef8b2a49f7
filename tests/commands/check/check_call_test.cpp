// SPDX-License-Identifier: Apache-2.0
#include "commands/check/check_call.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace warpsmith::commands {
namespace {

sandbox::EvaluateRequest call_of(const std::string& task, const std::string& solution) {
  CheckArguments arguments;
  arguments.place = "configs/tasks/micro/kernels/" + solution;
  arguments.task = "configs/tasks/micro/" + task;
  return check_call(arguments).value();
}

TEST(CheckInputTest, ATaskIsOnTheDeviceOfItsContract) {
  const sandbox::EvaluateRequest on_gpu =
      call_of("convolution/causal_conv_1d.py", "device/causal_conv_1d");
  EXPECT_EQ(on_gpu.submission.contract, "device");
  EXPECT_EQ(on_gpu.task.device, DeviceClass::cuda);
  const sandbox::EvaluateRequest on_cpu =
      call_of("convolution/causal_conv_1d.py", "cpu/causal_conv_1d");
  EXPECT_EQ(on_cpu.submission.contract, "cpu");
  EXPECT_EQ(on_cpu.task.device, DeviceClass::cpu);
}

using testing::HasSubstr;
using testing::StartsWith;

TEST(JudgeCallTest, UnstableTimesComeWithAdvice) {
  const auto noisy = std::get<InfraFailure>(with_advice(InfraFailure{InfraKind::noise, "noisy"}));
  EXPECT_THAT(noisy.detail, StartsWith("noisy\n"));
  EXPECT_THAT(noisy.detail, HasSubstr("stop other work on this machine and check again"));
  EXPECT_THAT(noisy.detail, HasSubstr("--verify-only"));
}

TEST(JudgeCallTest, TextsNameTheUsersFile) {
  const std::string text = "compile_error: kernel.cpp:3:5: error: expected ';'";
  EXPECT_EQ(with_own_name(text, "cpu", "kernels/mine.cpp"),
            "compile_error: mine.cpp:3:5: error: expected ';'");
  EXPECT_EQ(with_own_name(text, "cpu", "kernels/mine"), text)
      << "a folder's files keep their names";
  EXPECT_EQ(with_own_name("(model_new.py, line 1)", "host", "fast.py"), "(fast.py, line 1)");
  EXPECT_EQ(with_own_name("plan.toml:1:2", "device", "fast.py"), "plan.toml:1:2");
}

TEST(JudgeCallTest, OtherJudgementsStayAsTheyAre) {
  const auto late = std::get<InfraFailure>(with_advice(InfraFailure{InfraKind::deadline, "late"}));
  EXPECT_EQ(late.detail, "late");
  EXPECT_TRUE(std::holds_alternative<Verdict>(with_advice(Verdict{})));
}

}  // namespace
}  // namespace warpsmith::commands
