// SPDX-License-Identifier: Apache-2.0
// Follows a plan's kernels from a recording launcher in its jail to the profile's text, on the
// software device.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sandbox/commit/shared_buffers.hpp"
#include "sandbox/contract/device/device_launchers.hpp"
#include "sandbox/profile/profile.hpp"
#include "tests/sandbox/launch/plans.hpp"
#include "tests/sandbox/support/sandbox_fixture.hpp"
#include "tests/sandbox/support/software_device/software_device.hpp"
#include "tests/sandbox/support/software_device/software_kernels.hpp"
#include "tests/support/temporary_folder.hpp"

namespace warpsmith::sandbox {
namespace {

using cuda::RecordKind;
using testing::compile_software_kernels;
using testing::hang_guard;
using ::testing::HasSubstr;
using testing::in_seconds;
using testing::tensor;

constexpr const char* kernels = R"cuda(
extern "C" __global__ void scale(const float* x, float* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = 3.0f * x[i];
}
extern "C" __global__ void broken(float* out) { *(volatile int*)8 = 1; }
extern "C" __global__ void endless(float* out) { while (true) asm volatile(""); }
)cuda";

constexpr const char* steps =
    "[[step]]\nmemset = \"out\"\nvalue = 0\n"
    "[[step]]\nlaunch = \"scale\"\ngrid = [\"ceildiv(d0, 64)\", 2]\nblock = [64]\n"
    "args = [\"x\", \"out\", \"d0\"]\n"
    "[[step]]\ncopy = \"same\"\nfrom = \"x\"\n";

std::string launch_of(const std::string& kernel) {
  return "[[step]]\nlaunch = \"" + kernel +
         "\"\ngrid = [1]\nblock = [1]\nargs = [\"out\"]\n"
         "[[step]]\ncopy = \"same\"\nfrom = \"x\"\n";
}

TaskSignature vectors() {
  return testing::signature_of(
      {tensor("x", TensorRole::input, {1000}), tensor("out", TensorRole::output, {1000}),
       tensor("same", TensorRole::output, {1000})},
      {1000});
}

std::string compiled(const BoundPlan& plan) {
  static const test_support::TemporaryFolder folder;
  static auto compiler = CpuCompiler::create({.cache_dir = folder.path()});
  if (!compiler) throw std::runtime_error(compiler.error().message);
  auto made = compile_software_kernels(*compiler, {{"kernels.cu", kernels}}, plan, hang_guard());
  if (!made) throw std::runtime_error(made.error().message);
  if (made->failure) throw std::runtime_error(made->text);
  return made->artefact;
}

OrFailure<CallKernels> recorded(const std::string& text, int seconds = 30) {
  const TaskSignature signature = vectors();
  const BoundPlan plan = testing::bound_to(signature, text);
  const std::string artefact = compiled(plan);
  const BufferLayout layout = make_layout(signature, 2);
  const auto inputs = SharedBuffers::inputs(layout), outputs = SharedBuffers::outputs(layout);
  const DeviceContestantSpec spec{.plan = plan,
                                  .artefact = artefact,
                                  .layout = layout,
                                  .inputs_fd = inputs->fd(),
                                  .outputs_fd = outputs->fd(),
                                  .input_bytes = layout.input_total(),
                                  .output_bytes = layout.output_total()};
  return record_device_kernels({.program = testing::software_launcher_program()}, spec,
                               in_seconds(seconds));
}

TEST(RecordingLauncherTest, RecordsEveryStepOfOneCallInOrder) {
  const auto all = recorded(steps);
  ASSERT_TRUE(all) << all.error().message;
  ASSERT_EQ(all->kernels.size(), 3U);
  const ProfiledKernel &fill = all->kernels[0], &scale = all->kernels[1], &copy = all->kernels[2];
  EXPECT_EQ(fill.kind, RecordKind::fill);
  EXPECT_EQ(copy.kind, RecordKind::copy);
  EXPECT_EQ(copy.bytes, 4000U);
  EXPECT_EQ(scale.name, "scale");
  EXPECT_EQ(scale.grid, (std::array<uint32_t, 3>{16, 2, 1}));
  EXPECT_EQ(scale.block, (std::array<uint32_t, 3>{64, 1, 1}));
  EXPECT_GT(scale.time_us, 0);
  EXPECT_GE(scale.start_us, fill.start_us + fill.time_us - 1);
  EXPECT_EQ(fill.start_us, 0);
  EXPECT_EQ(all->uncounted, "a processor has no GPU's counters");
  EXPECT_FALSE(scale.counters);
}

TEST(RecordingLauncherTest, RecordsBecomeTheProfilesText) {
  auto all = recorded(steps);
  ASSERT_TRUE(all) << all.error().message;
  Profile profile;
  profile.candidate = std::move(*all);
  profile.eager.reason = profile.compiled.reason = "not asked";
  const std::string text = profile_text(profile);
  EXPECT_THAT(text, HasSubstr("candidate: 3 launches, "));
  EXPECT_THAT(text, HasSubstr("scale grid 16x2 block 64: "));
  EXPECT_THAT(text, HasSubstr("no counters: a processor has no GPU's counters\n"));
  EXPECT_THAT(text, HasSubstr("eager: not asked\n"));
}

TEST(RecordingLauncherTest, AFailingCandidateIsAnErrorWithTheReason) {
  const auto broken = recorded(launch_of("broken"));
  ASSERT_FALSE(broken);
  EXPECT_THAT(broken.error().message, HasSubstr("a recorded call: the process died of signal 11"));
  const auto endless = recorded(launch_of("endless"), 4);
  ASSERT_FALSE(endless);
  EXPECT_EQ(endless.error().code, ErrorCode::timeout);
}

TEST(RecordingLauncherTest, ATimedLauncherRecordsNothing) {
  const TaskSignature signature = vectors();
  const BoundPlan plan = testing::bound_to(signature, steps);
  const std::string artefact = compiled(plan);
  const BufferLayout layout = make_layout(signature, 1);
  const auto inputs = SharedBuffers::inputs(layout), outputs = SharedBuffers::outputs(layout);
  LauncherPool pool{{.program = testing::software_launcher_program(), .calibration_calls = 1}};
  auto launcher = start_device_contestant(pool,
                                          {.plan = plan,
                                           .artefact = artefact,
                                           .layout = layout,
                                           .inputs_fd = inputs->fd(),
                                           .outputs_fd = outputs->fd(),
                                           .input_bytes = layout.input_total(),
                                           .output_bytes = layout.output_total()},
                                          hang_guard());
  ASSERT_TRUE(launcher) << launcher.error().message;
  ASSERT_FALSE(launcher->contestant.load(hang_guard()).fault);
  EXPECT_TRUE(launcher->contestant.count(in_seconds(5)).fault);
  EXPECT_TRUE(launcher->contestant.collect(in_seconds(5)).fault);
}

}  // namespace
}  // namespace warpsmith::sandbox
