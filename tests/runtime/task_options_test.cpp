// SPDX-License-Identifier: Apache-2.0
// Options in a task's text.
#include "runtime/task_options.hpp"

#include <gtest/gtest.h>

namespace warpsmith {
namespace {

bool custom_only(const char* code) {
  const auto options = read_task_options(code);
  EXPECT_TRUE(options) << code;
  return options && options->custom_kernels_only;
}

TEST(TaskOptionsTest, AreOffByDefault) {
  EXPECT_FALSE(custom_only(""));
  EXPECT_FALSE(custom_only("import torch\nclass Model:\n    custom_kernels_only = True\n"));
  EXPECT_FALSE(custom_only("# custom_kernels_only = True\n"));
  EXPECT_FALSE(custom_only("custom_kernels_only_too = True\n"));
}

TEST(TaskOptionsTest, AreReadAtTheTopLevel) {
  EXPECT_TRUE(custom_only("x = 1\ncustom_kernels_only = True\n"));
  EXPECT_TRUE(custom_only("custom_kernels_only=True  # no libraries"));
  EXPECT_FALSE(custom_only("custom_kernels_only = False\r\n"));
}

TEST(TaskOptionsTest, InvalidValuesAreNamedByLine) {
  const auto odd = read_task_options("x = 1\ncustom_kernels_only = 1\n");
  ASSERT_FALSE(odd);
  EXPECT_EQ(odd.error().message, "line 2: custom_kernels_only: expected True or False, once");
  EXPECT_FALSE(read_task_options("custom_kernels_only = True\ncustom_kernels_only = False\n"));
}

}  // namespace
}  // namespace warpsmith
