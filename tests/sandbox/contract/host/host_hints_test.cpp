// SPDX-License-Identifier: Apache-2.0
#include "sandbox/contract/host/host_hints.hpp"

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

TEST(HostHintsTest, MakingAndMovingTensorsIsNoWork) {
  EXPECT_THAT(hints("y = torch.empty_like(x).view(3)\n"
                    "z = cuda_extension.softmax_forward(x)  # torch.softmax\n"
                    "PREF.x = 1\nn = self.F.count\n"),
              IsEmpty());
}

TEST(HostHintsTest, WordsInStringsAndCommentsAreNoWork) {
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

}  // namespace
}  // namespace warpsmith::sandbox
