// SPDX-License-Identifier: Apache-2.0
#include "sandbox/contract/host/host_review.hpp"

#include <gtest/gtest.h>

namespace warpsmith::sandbox {
namespace {

ShapeResult timed_shape() {
  ShapeResult shape;
  shape.candidate_ms = 1.0;
  shape.speedup_eager_ci = Interval{1.2, 1.4};
  shape.speedup_compile_ci = Interval{1.1, 1.3};
  return shape;
}

TEST(HostReviewTest, ASpeedUpIsProvenAsIfNothingHadBeenSubtracted) {
  StageFacts stage{.on_device = true};
  stage.reveal_ms = 0.5;
  stage.output_copy_ms = 0.5;
  ShapeResult shape = timed_shape();
  weigh_subtracted(stage, shape);
  EXPECT_DOUBLE_EQ(*stage.share, 1.0);
  EXPECT_FALSE(stage.within_share);
  EXPECT_DOUBLE_EQ(shape.speedup_eager_ci->low, 0.6);
  EXPECT_DOUBLE_EQ(shape.speedup_compile_ci->low, 0.55);
  EXPECT_DOUBLE_EQ(shape.speedup_eager_ci->high, 1.4);
}

/// Who rings before its kernels have ended lets them run on beside our wake-up and our sample.
TEST(HostReviewTest, AnEmptyCallAndTheSampleAreGivenBackTooButLowerNoTrust) {
  StageFacts stage{.on_device = true};
  stage.reveal_ms = 0.01;
  stage.output_copy_ms = 0.01;
  stage.noop_ms = 0.5;
  ShapeResult shape = timed_shape();
  weigh_subtracted(stage, shape);
  EXPECT_DOUBLE_EQ(shape.speedup_eager_ci->low, 0.8);
  EXPECT_DOUBLE_EQ(shape.speedup_compile_ci->high, 1.3);
  EXPECT_DOUBLE_EQ(*stage.share, 0.02);
  EXPECT_TRUE(stage.within_share);
}

TEST(HostReviewTest, OnAProcessorNothingRunsWhileInputsAreRevealed) {
  StageFacts stage;
  stage.reveal_ms = 5;
  stage.noop_ms = 5;
  ShapeResult shape = timed_shape();
  weigh_subtracted(stage, shape);
  EXPECT_TRUE(stage.within_share);
  EXPECT_DOUBLE_EQ(shape.speedup_eager_ci->low, 1.2);
}

TEST(HostReviewTest, WhatWasNotTimedIsNotWeighed) {
  StageFacts stage;
  ShapeResult shape;
  weigh_subtracted(stage, shape);
  EXPECT_FALSE(stage.share.has_value());
}

/// Of a task that takes custom kernels only: what becomes of a pass whose call ran these.
Verdict ruled(const std::vector<const char*>& names, const std::string& reason = "") {
  PartyKernels party{.reason = reason};
  for (const char* name : names) party.kernels.push_back({.name = name});
  Verdict verdict{.outcome = VerdictClass::passed, .feedback = "passed"};
  forbid_library_kernels(party, verdict);
  return verdict;
}

const char* const torch_add =
    "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>>()";
const char* const torch_fill =
    "void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>>()";

TEST(HostReviewTest, ACallMayRunItsOwnKernelsAndFillAndCopy) {
  EXPECT_EQ(ruled({"gated_sum(float const*)", torch_fill}).outcome, VerdictClass::passed);
}

TEST(HostReviewTest, AKernelOfALibraryBreaksTheRuleHoweverItWasCalled) {
  const Verdict v = ruled({"gated_sum(float const*)", torch_add, torch_add, "nvjet_hsh_128x256"});
  EXPECT_EQ(v.outcome, VerdictClass::banned_construct);
  EXPECT_EQ(
      v.feedback,
      "banned_construct: this task takes custom kernels only, a call ran nvjet_hsh_128x256, " +
          std::string(torch_add).substr(0, 80));
}

TEST(HostReviewTest, ACallWithoutAKernelOfItsOwnBreaksTheRule) {
  EXPECT_EQ(ruled({torch_fill}).outcome, VerdictClass::banned_construct);
  EXPECT_EQ(ruled({}, "it launches nothing").feedback,
            "banned_construct: this task takes custom kernels only, a call ran none: it launches "
            "nothing");
}

}  // namespace
}  // namespace warpsmith::sandbox
