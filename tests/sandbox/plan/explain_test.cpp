// SPDX-License-Identifier: Apache-2.0
#include "sandbox/plan/explain.hpp"

#include <gtest/gtest.h>

#include "sandbox/plan/plan_reader.hpp"

namespace warpsmith::sandbox {
namespace {

TEST(DescribeTest, EveryStepIsASentenceWithItsLine) {
  const auto plan = read_plan(
      "[scratch.partial]\ndtype = \"f32\"\nshape = [\"d0\", 4]\n"
      "[[step]]\nlaunch = \"sums\"\ngrid = [\"d0\"]\nblock = [256]\nargs = [\"x\", \"partial\"]\n"
      "[[step]]\nmemset = \"y\"\nvalue = 0\n"
      "[[step]]\ncopy = \"y\"\nfrom = \"partial\"\n");
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_EQ(describe(*plan),
            "scratch buffer partial, line 1: f32 (d0, 4)\n"
            "step 1, line 4: launches kernel sums with a grid of (d0) blocks of (256) threads; "
            "arguments: x, partial\n"
            "step 2, line 9: sets every byte of y to 0\n"
            "step 3, line 12: copies partial to y\n");
}

TEST(DescribeTest, SeveralVariantsHaveTheirConditions) {
  const auto plan = read_plan(
      "[[variant]]\nwhen = \"d0 % 4 == 0\"\n[[variant.step]]\nmemset = \"y\"\nvalue = 1\n"
      "[[variant]]\n[[variant.step]]\nmemset = \"y\"\nvalue = 2\n");
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_EQ(describe(*plan),
            "variant 1 of 2, line 1, if d0 % 4 == 0:\nstep 1, line 3: sets every byte of y to 1\n"
            "variant 2 of 2, line 6, in all other cases:\nstep 1, line 7: sets every byte of y to "
            "2\n");
}

}  // namespace
}  // namespace warpsmith::sandbox
