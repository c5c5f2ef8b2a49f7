// SPDX-License-Identifier: Apache-2.0
// The stage on a GPU: what it shows at which time, and what a sample detects.
#include "sandbox/judge/bench.hpp"
#include "tests/sandbox/judge/gpu_stage.hpp"

namespace warpsmith::sandbox::test {
namespace {

class DeviceStageTest : public GpuTest {
 protected:
  void SetUp() override {
    GpuTest::SetUp();
    if (!verifier_) return;
    signature_.tensors = {tensor_of(TensorRole::input, Dtype::f32, {64, 8}),
                          tensor_of(TensorRole::output, Dtype::f32, {64, 8})};
    bench_ = bench_of(signature_);
    auto stage = bench_->make_stage();
    ASSERT_TRUE(stage) << stage.error().message;
    stage_ = std::move(*stage);
    const CandidateMemory memory = stage_->memory();
    shown_.emplace(*context_, memory.inputs, memory.input_bytes);
    written_.emplace(*context_, memory.outputs, memory.output_bytes);
    input_at_ = memory.layout.slots[0].offset;
    output_at_ = memory.layout.slots[1].offset;
    RandomStream random(7, "positions");
    positions_ = draw_positions(signature_, memory.layout, random);
  }
  void write_outputs(float value) { written_->write(output_at_, std::vector<float>(512, value)); }

  TaskSignature signature_;
  std::unique_ptr<GpuBench> bench_;
  std::unique_ptr<CandidateStage> stage_;
  std::optional<DeviceView> shown_, written_;
  uint64_t input_at_ = 0, output_at_ = 0;
  std::vector<SamplePosition> positions_;
};

TEST_F(DeviceStageTest, ShowsNothingBeforeItIsRevealed) {
  inputs_of(*bench_).write(place_of(*bench_, 1, 0), std::vector<float>(512, 42));
  stage_->arm(1, positions_);
  EXPECT_EQ(shown_->read<float>(input_at_, 1)[0], 0);
  stage_->reveal(1);
  EXPECT_EQ(shown_->read<float>(input_at_, 512)[511], 42);
}

TEST_F(DeviceStageTest, TakesTheOutputsAtDone) {
  bench_->reset(1);
  stage_->arm(1, positions_);
  write_outputs(3);
  stage_->sample();
  EXPECT_TRUE(stage_->take(1));
  EXPECT_EQ(candidate_of(*bench_).read<float>(place_of(*bench_, 1, 1), 512)[511], 3);
  EXPECT_TRUE(bench_->guards_intact(1));
}

TEST_F(DeviceStageTest, DetectsWorkAfterDone) {
  bench_->reset(0);
  stage_->arm(0, positions_);
  stage_->sample();
  write_outputs(3);
  EXPECT_FALSE(stage_->take(0));
}

TEST_F(DeviceStageTest, ErasesNotesBeyondItsSet) {
  const uint64_t last = written_->bytes() - 1;
  ASSERT_GT(last, output_at_ + 512 * sizeof(float));
  written_->write(last, std::vector<uint8_t>{42});
  bench_->reset(1);
  stage_->arm(1, positions_);
  EXPECT_EQ(written_->read<uint8_t>(last, 1)[0], 0);
}

TEST_F(DeviceStageTest, CarriesGuards) {
  bench_->reset(1);
  stage_->arm(1, positions_);
  written_->write(output_at_ - 4, std::vector<float>{1});
  stage_->sample();
  (void)stage_->take(1);
  EXPECT_FALSE(bench_->guards_intact(1));
}

}  // namespace
}  // namespace warpsmith::sandbox::test
