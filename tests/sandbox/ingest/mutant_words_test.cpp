// SPDX-License-Identifier: Apache-2.0
#include "sandbox/ingest/mutant_words.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <regex>

namespace warpsmith::sandbox {
namespace {

TEST(MutantWordsTest, PeopleReadWordsInPlaceOfNames) {
  EXPECT_EQ(
      in_words("bf16 (0.88 of the bound), first_row (0 of the bound)"),
      "everything in bfloat16 (0.88 of the bound), the first row in every row (0 of the bound)");
  EXPECT_EQ(in_words("output 0 is constant, in timed calls dropped_linear.bias (0.1 of the bound)"),
            "output 0 is constant, in timed calls without the parameter linear.bias (0.1 of the "
            "bound)");
  EXPECT_EQ(in_words(""), "");
}

TEST(MutantWordsTest, EveryMutantHasWords) {
  std::ifstream file{"sandbox/reference/worker/mutants.py"};
  ASSERT_TRUE(file) << "run from the checkout's root";
  const std::string text{std::istreambuf_iterator<char>{file}, {}};
  const std::regex mutant{R"re("(\w+)": _)re"};
  int count = 0;
  for (std::sregex_iterator at{text.begin(), text.end(), mutant}, end; at != end; ++at, ++count) {
    const std::string name = (*at)[1];
    EXPECT_NE(in_words(name), name);
  }
  EXPECT_GE(count, 9);
}

}  // namespace
}  // namespace warpsmith::sandbox
