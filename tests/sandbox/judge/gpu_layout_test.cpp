// SPDX-License-Identifier: Apache-2.0
#include "sandbox/judge/gpu/gpu_layout.hpp"

#include <gtest/gtest.h>

#include "sandbox/judge/gpu/gpu_bench.hpp"

namespace warpsmith::sandbox {
namespace {

TaskSignature elementwise(int64_t elements) {
  TaskSignature signature;
  signature.tensors = {{.name = "x", .shape = {elements}},
                       {.name = "w", .role = TensorRole::parameter, .shape = {3}},
                       {.name = "y", .role = TensorRole::output, .shape = {elements}}};
  return signature;
}

TEST(GpuLayoutTest, TensorsLieAtMultiplesOf256Bytes) {
  const auto layout = gpu_layout(elementwise(1001), 1ULL << 30U);
  ASSERT_TRUE(layout.has_value());
  EXPECT_EQ(layout->input_stride % 256, 0U);
  EXPECT_EQ(layout->output_stride % 256, 0U);
  for (const BufferSlot& slot : layout->slots) EXPECT_EQ(slot.offset % 256, 0U);
  EXPECT_GE(layout->slots[1].offset, layout->slots[0].offset + 4004 + 2 * guard_bytes);
}

TEST(GpuLayoutTest, ThreeSetsLeaveHalfOfTheMemoryToOthers) {
  const TaskSignature signature = elementwise(1 << 28);
  const uint64_t three =
      total_of(gpu_region_bytes(signature, make_layout(signature, 3, gpu_alignment)));
  EXPECT_EQ(gpu_layout(signature, 2 * three)->sets, 3U);
  EXPECT_EQ(gpu_layout(signature, 2 * three - 2)->sets, 2U);
}

TEST(GpuLayoutTest, RefusesATaskThatDoesNotFitWithBothNumbers) {
  // 4 sets of one output and 2 of the inputs are 24 bytes an element; the references take 12.
  const auto layout = gpu_layout(elementwise(5'000'000'000), 79'123'000'000);
  ASSERT_FALSE(layout.has_value());
  EXPECT_EQ(layout.error().code, ErrorCode::capacity);
  EXPECT_EQ(layout.error().message, "the task needs 180.0 GB of device memory, 79.1 GB are free");
}

TEST(GpuLayoutTest, KeepsMemoryThatIsLargeEnoughAndNotFarMore) {
  constexpr uint64_t gib = 1ULL << 30U;
  EXPECT_TRUE(gpu_memory_fits(4 * gib, 3 * gib));
  EXPECT_FALSE(gpu_memory_fits(4 * gib, 5 * gib));
  EXPECT_FALSE(gpu_memory_fits(4 * gib, gib));
  EXPECT_TRUE(gpu_memory_fits(gib, 1));
}

TEST(GpuVerifierTest, AMachineWithoutAGpuIsAnError) {
  if (const auto driver = cuda::Driver::load()) GTEST_SKIP() << "this machine has a driver";
  const auto verifier = GpuVerifier::open(0);
  ASSERT_FALSE(verifier.has_value());
  EXPECT_EQ(verifier.error().code, ErrorCode::unsupported);
  EXPECT_FALSE(verifier.error().message.empty());
}

}  // namespace
}  // namespace warpsmith::sandbox
