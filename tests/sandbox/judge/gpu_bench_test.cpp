// SPDX-License-Identifier: Apache-2.0
#include "sandbox/judge/gpu/gpu_bench.hpp"

#include <algorithm>

#include "sandbox/judge/guards.hpp"
#include "tests/sandbox/judge/gpu_stage.hpp"

namespace warpsmith::sandbox {
namespace {

using test::place_of;
using test::tensor_of;
using test::test_key;

class GpuBenchTest : public test::GpuTest {};

/// Inputs of odd sizes, and outputs with every kind of poison.
TaskSignature mixed() {
  TaskSignature signature;
  signature.tensors = {tensor_of(TensorRole::input, Dtype::f32, {1001}),
                       tensor_of(TensorRole::input, Dtype::u8, {13}),
                       tensor_of(TensorRole::parameter, Dtype::i64, {3})};
  for (const Dtype dtype : {Dtype::f32, Dtype::f64, Dtype::f16, Dtype::bf16, Dtype::i64, Dtype::i32,
                            Dtype::i16, Dtype::i8, Dtype::boolean}) {
    signature.tensors.push_back(tensor_of(TensorRole::output, dtype, {333}));
  }
  return signature;
}

constexpr size_t first_output = 3;

TEST_F(GpuBenchTest, ReportsItsDevice) {
  EXPECT_FALSE(verifier_->facts().name.empty());
  EXPECT_GT(verifier_->facts().l2_bytes, 0);
  EXPECT_GT(verifier_->free_memory(), 0U);
  EXPECT_EQ(GpuVerifier::open(4711).error().code, ErrorCode::not_found);
}

TEST_F(GpuBenchTest, ComputesTheSameAsACpu) {
  EXPECT_TRUE(verifier_->computes_right());
}

TEST_F(GpuBenchTest, PoisonEqualsTheHostsForEveryType) {
  const auto bench = bench_of(mixed());
  bench->reset(1);
  const auto view = candidate_of(*bench);
  for (size_t i = first_output; i < bench->signature().tensors.size(); ++i) {
    std::vector<std::byte> expected(bench->layout().slots[i].bytes);
    poison(bench->signature().tensors[i].dtype, expected);
    EXPECT_EQ(view.read(place_of(*bench, 1, i), expected.size()), expected) << i;
  }
}

TEST_F(GpuBenchTest, DetectsOneByteBeforeOrAfterAnyOutput) {
  const auto bench = bench_of(mixed());
  for (uint32_t set = 0; set < bench->sets(); ++set) bench->reset(set);
  const auto view = candidate_of(*bench);
  for (size_t i = first_output; i < bench->signature().tensors.size(); ++i) {
    const uint64_t first = place_of(*bench, 1, i), end = first + bench->layout().slots[i].bytes;
    for (const uint64_t at : {first - guard_bytes, first - 1, end, end + guard_bytes - 1}) {
      EXPECT_TRUE(bench->guards_intact(1));
      view.write(at, std::vector<uint8_t>{0});
      EXPECT_FALSE(bench->guards_intact(1)) << i << ' ' << at;
      EXPECT_TRUE(bench->guards_intact(0));
      view.write(at, std::vector<uint8_t>{static_cast<uint8_t>(guard_value)});
    }
    view.write(first, std::vector<uint8_t>{0});
    EXPECT_TRUE(bench->guards_intact(1)) << "the output itself is not guarded";
  }
}

TEST_F(GpuBenchTest, DetectsOneByteAnywhereOutsideTheOutputsOfASet) {
  const auto bench = bench_of(mixed());
  bench->reset(1);
  const auto view = candidate_of(*bench);
  const uint64_t start = bench->layout().output_stride;
  for (const ByteZone& zone : zones_between_outputs(bench->layout())) {
    const uint64_t first = start + zone.offset, last = first + zone.bytes - 1;
    for (const uint64_t at : {first, first + 17, (first + last) / 2, last}) {
      view.write(at, std::vector<uint8_t>{0});
      EXPECT_FALSE(bench->guards_intact(1)) << at;
      view.write(at, std::vector<uint8_t>{static_cast<uint8_t>(guard_value)});
      EXPECT_TRUE(bench->guards_intact(1)) << at;
    }
  }
}

TEST_F(GpuBenchTest, ErasesWhatAnEarlierCallWroteToAnySet) {
  const auto bench = bench_of(mixed());
  bench->renew();
  const auto view = candidate_of(*bench);
  view.clear(0x5A);
  bench->reset(1);
  const auto sets = view.read(0, bench->layout().output_total());
  size_t poisoned = 0;
  for (const BufferSlot& slot : bench->layout().slots) poisoned += slot.output ? slot.bytes : 0;
  EXPECT_EQ(std::ranges::count(sets, guard_value),
            static_cast<std::ptrdiff_t>(sets.size() - poisoned));
  EXPECT_EQ(std::ranges::count(sets, std::byte{0x5A}), 0);
}

TEST_F(GpuBenchTest, DetectsOneByteBeyondAllSets) {
  GpuBenchMemory memory;
  TaskSignature larger = mixed();
  larger.tensors[first_output].shape = {(1 << 22) + 5};
  bench_of(larger, memory).reset();
  const auto bench = bench_of(mixed(), memory);
  bench->renew();
  bench->reset(0);
  const auto view = candidate_of(*bench);
  const uint64_t first = bench->layout().output_total(), last = view.bytes() - 1;
  ASSERT_GT(last - first, uint64_t{16} << 20U) << "memory of a larger task was kept";
  for (const uint64_t at : {first, (first + last) / 2 + 3, last}) {
    EXPECT_TRUE(bench->rest_intact());
    view.write(at, std::vector<uint8_t>{0});
    EXPECT_FALSE(bench->rest_intact()) << at;
    EXPECT_TRUE(bench->guards_intact(0)) << at;
    view.write(at, std::vector<uint8_t>{static_cast<uint8_t>(guard_value)});
  }
}

TEST_F(GpuBenchTest, ErasesWhatAnEarlierCandidateWrote) {
  const auto bench = bench_of(mixed());
  const auto view = candidate_of(*bench);
  view.clear(0x5A);
  bench->renew();
  const auto bytes = view.read(0, view.bytes());
  EXPECT_EQ(std::ranges::count(bytes, guard_value), static_cast<std::ptrdiff_t>(bytes.size()));
}

TEST_F(GpuBenchTest, HashChangesWithAnyBitOfAnyInput) {
  const auto bench = bench_of(mixed());
  bench->fill(0, {test_key, 3, Distribution::normal}, std::vector<InputRule>(1));
  const auto view = inputs_of(*bench);
  const uint64_t before = bench->inputs_hash(0);
  for (size_t i = 0; i < first_output; ++i) {
    const uint64_t bytes = bench->layout().slots[i].bytes;
    for (const uint64_t at : {uint64_t{0}, bytes / 2, bytes - 1}) {
      const uint64_t place = place_of(*bench, 0, i) + at;
      const auto saved = view.read<uint8_t>(place, 1);
      for (const unsigned bit : {0U, 7U}) {
        view.write(place, std::vector<uint8_t>{static_cast<uint8_t>(saved[0] ^ (1U << bit))});
        EXPECT_NE(bench->inputs_hash(0), before) << i << ' ' << at << ' ' << bit;
      }
      view.write(place, saved);
    }
  }
  EXPECT_EQ(bench->inputs_hash(0), before);
}

TEST_F(GpuBenchTest, CopiesASetsInputs) {
  const auto bench = bench_of(mixed());
  bench->fill(0, {test_key, 3, Distribution::normal}, std::vector<InputRule>(1));
  EXPECT_NE(bench->inputs_hash(1), bench->inputs_hash(0));
  bench->copy_inputs(0, 1);
  EXPECT_EQ(bench->inputs_hash(1), bench->inputs_hash(0));
}

TEST_F(GpuBenchTest, TakesTheWorkersDraws) {
  const auto bench = bench_of(mixed());
  const std::vector<uint8_t> bytes{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13};
  const std::vector<int64_t> numbers{-1, 1LL << 40, 7};
  result_of(*bench).write(0, bytes);
  result_of(*bench).write(padded(bytes.size()), numbers);
  bench->take_drawn(1, std::vector<InputRule>{{}, {.drawn = true}, {.drawn = true}});
  EXPECT_EQ(inputs_of(*bench).read<uint8_t>(place_of(*bench, 1, 1), bytes.size()), bytes);
  EXPECT_EQ(inputs_of(*bench).read<int64_t>(place_of(*bench, 1, 2), numbers.size()), numbers);
}

TEST_F(GpuBenchTest, KeepsMemoryBetweenTasksAndErasesIt) {
  GpuBenchMemory memory;
  auto bench = bench_of(mixed(), memory);
  const auto kept = memory.regions;
  const auto clear_all = [&](unsigned char value) {
    inputs_of(*bench).clear(value), candidate_of(*bench).clear(value);
    worker_of(*bench).clear(value);
  };
  clear_all(0x5A);
  TaskSignature smaller = mixed();
  smaller.tensors.pop_back();
  bench.reset();
  bench = bench_of(smaller, memory);
  EXPECT_EQ(memory.regions, kept);
  for (const auto& view : {inputs_of(*bench), candidate_of(*bench), worker_of(*bench)}) {
    const auto bytes = view.read(0, view.bytes());
    EXPECT_EQ(std::count(bytes.begin(), bytes.end(), std::byte{0}),
              static_cast<std::ptrdiff_t>(bytes.size()));
  }
}

TEST_F(GpuBenchTest, AllocatesMemoryForALargerTask) {
  GpuBenchMemory memory;
  auto bench = bench_of(mixed(), memory);
  const auto small = memory.regions;
  TaskSignature larger = mixed();
  larger.tensors[0].shape = {1 << 24};
  bench.reset();
  bench = bench_of(larger, memory);
  EXPECT_NE(memory.regions[0], small[0]);
  EXPECT_EQ(memory.regions[1], small[1]);
  EXPECT_GE(bench->candidate_memory().input_bytes, bench->layout().input_total());
}

TEST_F(GpuBenchTest, ReleasesOnlyLargeMemoryBetweenTasks) {
  GpuBenchMemory memory;
  TaskSignature large = mixed();
  large.tensors[0].shape = {1 << 28};
  auto bench = bench_of(large, memory);
  bench.reset();
  const auto small = memory.regions[1];
  const uint64_t free = verifier_->free_memory();
  memory.release_large();
  EXPECT_EQ(memory.regions[0], nullptr);
  EXPECT_EQ(memory.regions[1], small);
  EXPECT_GT(verifier_->free_memory(), free);
}

TEST_F(GpuBenchTest, FreesAllMemory) {
  const uint64_t before = verifier_->free_memory();
  {
    TaskSignature signature = mixed();
    signature.tensors[0].shape = {1 << 26};
    const auto bench = bench_of(signature);
    EXPECT_LT(verifier_->free_memory(), before);
  }
  EXPECT_EQ(verifier_->free_memory(), before);
}

TEST_F(GpuBenchTest, ATaskThatDoesNotFitIsRefusedWithBothNumbers) {
  TaskSignature signature = mixed();
  signature.tensors[0].shape = {1LL << 40};
  GpuBenchMemory memory;
  auto bench = bench_of(mixed(), memory);
  bench.reset();
  const auto refused = GpuBench::create(verifier_, signature, memory);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, ErrorCode::capacity);
  const std::string& message = refused.error().message;
  EXPECT_TRUE(message.starts_with("the task needs 4 TiB of device memory, ")) << message;
  EXPECT_TRUE(message.ends_with(" GiB are free")) << message;
}

}  // namespace
}  // namespace warpsmith::sandbox
