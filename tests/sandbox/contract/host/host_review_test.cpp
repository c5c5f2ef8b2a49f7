// SPDX-License-Identifier: Apache-2.0
#include "sandbox/contract/host/host_review.hpp"

#include <gtest/gtest.h>

namespace warpsmith::sandbox {
namespace {

/// A pass whose call ran these kernels, reviewed for a task that takes custom kernels only.
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
