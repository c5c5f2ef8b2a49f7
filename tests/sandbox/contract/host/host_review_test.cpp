// SPDX-License-Identifier: Apache-2.0
#include "sandbox/contract/host/host_review.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace warpsmith::sandbox {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

std::vector<std::string> hints(const std::string& text) {
  return library_hints({{"model_new.py", text}});
}

TEST(HostHintsTest, NamesOperatorsByLine) {
  EXPECT_THAT(
      hints("import torch.nn.functional as F\n"
            "y = F.relu(x)\n"
            "z = torch.matmul(x, torch.nn.functional.gelu(y))\n"
            "w = x @ y\n"),
      ElementsAre("model_new.py:2: F.relu", "model_new.py:3: torch.matmul", "model_new.py:4: @"));
}

TEST(HostHintsTest, MakingAndMovingTensorsIsNotListed) {
  EXPECT_THAT(hints("y = torch.empty_like(x).view(3)\n"
                    "z = cuda_extension.softmax_forward(x)  # torch.softmax\n"
                    "PREF.x = 1\nn = self.F.count\n"),
              IsEmpty());
}

TEST(HostHintsTest, WordsInStringsAndCommentsAreNotListed) {
  EXPECT_THAT(hints(R"py("""rows @ columns
F.relu(x)"""
name = 'a \' @ b' + "F.relu # "  # F.relu(x) @ y
z = x @ y  # 'not closed
odd = 'ends with its line
z = F.relu(x)
)py"),
              ElementsAre("model_new.py:4: @", "model_new.py:6: F.relu"));
  EXPECT_THAT(hints("'''never closed F.relu(x)\n@ \\"), IsEmpty());
}

TEST(HostHintsTest, ListsFewOfMany) {
  std::string text;
  for (int i = 0; i < 100; ++i) text += "F.relu(x)\n";
  EXPECT_THAT(hints(text), SizeIs(16));
}

/// A pass whose call ran these kernels, reviewed for a task that takes custom kernels only.
Verdict ruled(const std::vector<const char*>& names, const std::string& reason = "") {
  CallKernels party{.reason = reason};
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

TEST(HostReviewTest, ACallWithoutItsOwnKernelBreaksTheRule) {
  EXPECT_EQ(ruled({torch_fill}).outcome, VerdictClass::banned_construct);
  EXPECT_EQ(ruled({}, "it launches nothing").feedback,
            "banned_construct: this task takes custom kernels only, a call ran none: it launches "
            "nothing");
}

}  // namespace
}  // namespace warpsmith::sandbox
