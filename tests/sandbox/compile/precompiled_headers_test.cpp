// SPDX-License-Identifier: Apache-2.0
#include "sandbox/compile/precompiled_headers.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace warpsmith::sandbox {
namespace {

std::string of(const std::string& text) {
  return leading_headers({{"kernels.cu", text}}, "kernels.cu");
}

TEST(LeadingHeadersTest, AreTheIncludesAtTheTop) {
  EXPECT_EQ(
      of("// what it does\n/* and\n how */\n#include <cuda_fp16.h>\n\n#  include <cub/cub.cuh> "
         "// sums\n#define N 3\n#include <mma.h>\n"),
      "#include <cuda_fp16.h>\n#include <cub/cub.cuh>\n");
}

TEST(LeadingHeadersTest, NoneIfTheSourceBeginsOtherwise) {
  for (const char* text : {"", "int x;\n#include <mma.h>\n", "#define A\n#include <mma.h>\n",
                           "#include \"mine.cuh\"\n", "#include MACRO\n", "#include <mma.h> int x;",
                           "/* never ends\n#include <mma.h>\n", "#include <mma.h",
                           "#include <../../etc/passwd>\n", "#include </etc/passwd>\n",
                           "#include <a\nb>\n", "#include <mma.h> /* goes\n on */ int x;\n"}) {
    EXPECT_EQ(of(text), "") << text;
  }
}

/// The compiler joins such lines first, so an include may become part of a comment.
TEST(LeadingHeadersTest, NoneIfALineIsJoinedToTheNext) {
  for (const std::string joint : {"\\\n", "\\\r\n", "\\ \t\n", "?\?/\n"}) {
    EXPECT_EQ(of("#include <mma.h>\n// " + joint + "#include <cuda_fp16.h>\nint x;\n"), "");
    EXPECT_EQ(of("#include <mma.h> // " + joint + "#include <cuda_fp16.h>\nint x;\n"), "");
    EXPECT_EQ(of("/* *" + joint + "/ int x; /* */\n#include <mma.h>\n"), "");
  }
  EXPECT_EQ(of("// \\sigma \\\\ ?\?\n\n#include <mma.h>\n#define A 1 \\\n + 2\n"),
            "#include <mma.h>\n");
}

TEST(LeadingHeadersTest, NoneIfThereAreOtherFiles) {
  EXPECT_EQ(leading_headers({{"kernels.cu", "#include <mma.h>\n"}, {"mma.h", ""}}, "kernels.cu"),
            "");
  EXPECT_EQ(leading_headers({{"other.cu", "#include <mma.h>\n"}}, "kernels.cu"), "");
}

TEST(LeadingHeadersTest, AreBoundedInNumber) {
  std::string text;
  for (int i = 0; i < 40; ++i) text += "#include <a" + std::to_string(i) + ".h>\n";
  const std::string lines = of(text);
  EXPECT_EQ(std::count(lines.begin(), lines.end(), '\n'), 16);
}

}  // namespace
}  // namespace warpsmith::sandbox
