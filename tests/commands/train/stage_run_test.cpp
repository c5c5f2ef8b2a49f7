// SPDX-License-Identifier: Apache-2.0
#include "commands/train/stage_run.hpp"

#include <c10/util/Exception.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <exception>

#include "actors/base/actor_state.hpp"

namespace warpsmith::commands {
using namespace actors;
namespace {

using testing::HasSubstr;
using testing::Not;

/// What is printed when a stage throws.
std::string printed_by(Stage kind, ExitCode expected, const std::function<StageEnd()>& stage,
                       ComputeDevice device = ComputeDevice::cuda) {
  RunConfig config;
  config.run.stage = kind;
  config.learner.gpu = 3;
  config.learner.device = device;
  testing::internal::CaptureStderr();
  EXPECT_EQ(run_reporting_torch_errors(config, stage).code, expected);
  std::string text = testing::internal::GetCapturedStderr();
  EXPECT_THAT(text, Not(HasSubstr("frame #"))) << "a backtrace";
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1);
  return text;
}

TEST(StageFailureTest, AGpuWithoutMemoryIsNamedWithTheRemedy) {
  const std::string text = printed_by(Stage::sft, ExitCode::infrastructure, []() -> StageEnd {
    TORCH_CHECK_WITH(OutOfMemoryError, false, "CUDA out of memory. Tried to allocate 2 GiB.");
    return {};
  });
  EXPECT_THAT(text, HasSubstr("stage sft: GPU 3 has no memory left: CUDA out of memory. Tried to"));
  EXPECT_THAT(text, HasSubstr("lower sft.context and sft.batch_tokens"));
  EXPECT_THAT(text, HasSubstr("learner.offload"));
  EXPECT_THAT(text, HasSubstr("start the run again, or --resume it"));
}

TEST(StageFailureTest, RunningOutOfHostMemoryIsNotALostDevice) {
  const auto fails = []() -> StageEnd {
    TORCH_CHECK(false, "DefaultCPUAllocator: can't allocate memory: you tried to allocate 9 TB");
    return {};
  };
  const std::string text =
      printed_by(Stage::sft, ExitCode::infrastructure, fails, ComputeDevice::cpu);
  EXPECT_THAT(text, HasSubstr("can't allocate memory: you tried to allocate 9 TB; if memory is "
                              "short, lower sft.context and sft.batch_tokens"));
  EXPECT_THAT(text, Not(HasSubstr("learner.offload")));
  EXPECT_THAT(text, Not(HasSubstr("doctor")));
}

TEST(StageFailureTest, ALostGpuIsOneLine) {
  const std::string text = printed_by(Stage::value, ExitCode::infrastructure, []() -> StageEnd {
    TORCH_CHECK(false, "CUDA error: device lost\nFor debugging pass CUDA_LAUNCH_BLOCKING=1");
    return {};
  });
  EXPECT_THAT(text, HasSubstr("stage value: CUDA error: device lost; --resume continues"));
}

TEST(StageFailureTest, AnActorEndsWithoutABacktrace) {
  try {
    TORCH_CHECK(false, "CUDA error: device lost");
  } catch (const std::exception& error) {
    EXPECT_THAT(error.what(), HasSubstr("frame #"));
    EXPECT_EQ(error_of(std::current_exception()).message, "CUDA error: device lost");
  }
}

TEST(StageFailureTest, TheResultOfAStageIsPassedOn) {
  RunConfig config;
  const StageEnd end =
      run_reporting_torch_errors(config, [] { return StageEnd{.complete = true}; });
  EXPECT_TRUE(end.complete);
}

}  // namespace
}  // namespace warpsmith::commands
