// SPDX-License-Identifier: Apache-2.0
// The stage on the host: what it shows at which time, and what a sample detects.
#include "sandbox/judge/bench.hpp"

#include <gtest/gtest.h>

#include <cstring>

#include "sandbox/judge/host_bench.hpp"

namespace warpsmith::sandbox {
namespace {

TaskSignature signature() {
  TaskSignature made;
  made.tensors.push_back({"x", TensorRole::input, Dtype::f32, {64, 8}, {}});
  made.tensors.push_back({"y", TensorRole::output, Dtype::f32, {64, 8}, {}});
  made.tensors.push_back({"i", TensorRole::output, Dtype::i64, {3}, {}});
  made.tensors.push_back({"none", TensorRole::output, Dtype::f32, {0}, {}});
  return made;
}

class StageTest : public testing::Test {
 protected:
  StageTest()
      : bench_(std::move(*HostBench::create(signature()))),
        stage_(std::move(*bench_->make_stage())) {
    const CandidateMemory memory = stage_->memory();
    inputs_ = std::move(*MemoryFile::map(UniqueFd{::dup(memory.inputs)}, /*writable=*/false));
    outputs_ = std::move(*MemoryFile::map(UniqueFd{::dup(memory.outputs)}, /*writable=*/true));
    layout_ = memory.layout;
  }
  std::span<float> bench_input(uint32_t set) { return floats(bench_->inputs().tensor(set, 0)); }
  /// The memory as the candidate's process sees it.
  std::span<float> shown() {
    return floats(inputs_.bytes().subspan(layout_.slots[0].offset, 2048));
  }
  std::span<float> written() {
    return floats(outputs_.bytes().subspan(layout_.slots[1].offset, 2048));
  }
  std::vector<SamplePosition> positions() {
    RandomStream random(7, "positions");
    return draw_positions(signature(), layout_, random);
  }
  static std::span<float> floats(std::span<std::byte> bytes) {
    return {reinterpret_cast<float*>(bytes.data()), bytes.size() / sizeof(float)};
  }

  std::unique_ptr<HostBench> bench_;
  std::unique_ptr<CandidateStage> stage_;
  MemoryFile inputs_, outputs_;
  BufferLayout layout_;
};

TEST_F(StageTest, ShowsNothingBeforeItIsRevealed) {
  bench_input(1)[5] = 42;
  stage_->arm(1, positions());
  EXPECT_EQ(shown()[5], 0);
  stage_->reveal(1);
  EXPECT_EQ(shown()[5], 42);
}

TEST_F(StageTest, ShowsTheCandidateOneSetThatItCannotWrite) {
  EXPECT_EQ(stage_->memory().layout.sets, 1U);
  EXPECT_FALSE(MemoryFile::map(UniqueFd{::dup(stage_->memory().inputs)}, /*writable=*/true));
}

TEST_F(StageTest, TakesTheOutputsAtDone) {
  bench_->reset(1);
  stage_->arm(1, positions());
  for (float& value : written()) value = 3;
  stage_->sample();
  EXPECT_TRUE(stage_->take(1));
  EXPECT_EQ(floats(bench_->candidate_outputs().tensor(1, 1))[100], 3);
  EXPECT_TRUE(bench_->guards_intact(1));
}

TEST_F(StageTest, DetectsWorkAfterDone) {
  bench_->reset(0);
  stage_->arm(0, positions());
  stage_->sample();
  for (float& value : written()) value = 3;
  EXPECT_FALSE(stage_->take(0));
}

TEST_F(StageTest, CarriesPoisonAndGuards) {
  bench_->reset(1);
  stage_->arm(1, positions());
  EXPECT_NE(written()[0], written()[0]);  // NaN
  outputs_.bytes()[layout_.slots[1].offset - 1] = std::byte{1};
  stage_->sample();
  (void)stage_->take(1);
  EXPECT_FALSE(bench_->guards_intact(1));
}

TEST_F(StageTest, PositionsLieInTheOutputs) {
  size_t in_second = 0;
  for (const SamplePosition& at : positions()) {
    const BufferSlot& slot = layout_.slots[at.bytes == 8 ? 2 : 1];
    in_second += at.bytes == 8 ? 1 : 0;
    EXPECT_GE(at.offset, slot.offset);
    EXPECT_LE(at.offset + at.bytes, slot.offset + slot.bytes);
    EXPECT_EQ((at.offset - slot.offset) % at.bytes, 0U);
  }
  EXPECT_EQ(positions().size(), sampled_positions);
  EXPECT_EQ(in_second, sampled_positions / 2);
}

}  // namespace
}  // namespace warpsmith::sandbox
