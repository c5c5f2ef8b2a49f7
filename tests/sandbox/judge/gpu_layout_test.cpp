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
  const auto layout = gpu_layout(elementwise(1001), {.available = 1ULL << 30U});
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
  EXPECT_EQ(gpu_layout(signature, {.available = 2 * three})->sets, 3U);
  EXPECT_EQ(gpu_layout(signature, {.available = 2 * three - 2})->sets, 2U);
  EXPECT_EQ(gpu_layout(signature, {.available = 2 * three, .worker = 1})->sets, 2U);
}

TEST(GpuLayoutTest, OneSetIsUsedOnlyIfItIsFarLargerThanTheCache) {
  constexpr uint64_t cache = 50ULL << 20U;
  const TaskSignature large = elementwise(1 << 28), small = elementwise(1 << 27);
  const auto two = [](const TaskSignature& signature) {
    return total_of(gpu_region_bytes(signature, make_layout(signature, 2, gpu_alignment)));
  };
  EXPECT_EQ(gpu_layout(large, {.available = 2 * two(large) - 2, .cache = cache})->sets, 1U);
  EXPECT_EQ(gpu_layout(small, {.available = 2 * two(small) - 2, .cache = cache})->sets, 2U);
  EXPECT_EQ(gpu_layout(small, {.available = two(small), .cache = cache})->sets, 2U);
  EXPECT_FALSE(gpu_layout(small, {.available = two(small) - 1, .cache = cache}));
}

/// A huge task of KernelBench with the worker's bytes as planned (worker_rows_test.py).
struct Huge {
  const char* name;
  int64_t inputs, outputs;  // elements
  uint64_t worker;
};

TEST(GpuLayoutTest, HugeTasksOfKernelBenchFitACardOf80Gb) {
  constexpr uint64_t free = 79'600 * (1ULL << 30U) / 1000 - (2ULL << 30U), cache = 50ULL << 20U;
  constexpr int64_t rows = 4096, wide = 393'216, norm = 112LL * 64 * 512 * 512;
  constexpr int64_t scan = int64_t{1} << 30, sum = 128LL * 4096 * 4095;
  for (const Huge& task :
       {Huge{"ReLU", rows * wide, rows * wide, 14'600'000'000},
        Huge{"RMSNorm", norm, norm, 16'900'000'000}, Huge{"cumsum", scan, scan, 18'800'000'000},
        Huge{"sum over a dimension", sum, 128LL * 4095, 18'800'000'000},
        Huge{"attention", 3 * scan / 2, scan / 2, 24'600'000'000}}) {
    TaskSignature signature = elementwise(task.inputs);
    signature.tensors.back().shape = {task.outputs};
    const auto layout = gpu_layout(signature, {free, task.worker, cache});
    ASSERT_TRUE(layout) << task.name << ": " << layout.error().message;
    EXPECT_LE(total_of(gpu_region_bytes(signature, *layout)) + task.worker, free) << task.name;
    EXPECT_EQ(layout->sets, task.outputs < sum / 100 ? 2U : 1U) << task.name;
  }
}

TEST(GpuLayoutTest, RefusesATaskThatDoesNotFitWithBothNumbers) {
  // One set of the inputs and two of the outputs are 12 bytes an element; so are the references.
  const auto layout = gpu_layout(elementwise(5'000'000'000),
                                 {.available = 79'123'000'000, .worker = 1'000'000'000});
  ASSERT_FALSE(layout.has_value());
  EXPECT_EQ(layout.error().code, ErrorCode::capacity);
  EXPECT_EQ(layout.error().message,
            "the task needs 112.7 GiB of device memory, 73.69 GiB are free");
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
