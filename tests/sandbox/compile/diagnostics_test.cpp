// SPDX-License-Identifier: Apache-2.0
// The text that an agent reads if its kernel does not compile.
#include "sandbox/compile/diagnostics.hpp"

#include <gtest/gtest.h>

namespace warpsmith::sandbox {
namespace {

TEST(DiagnosticsTest, KeepsErrorsAndDropsTheRest) {
  EXPECT_EQ(summarise_errors("kernel.cpp: In function 'void solve()':\n"
                             "kernel.cpp:3:5: error: 'y' was not declared\n"
                             "kernel.cpp:3:5: note: suggested: 'x'\n"),
            "kernel.cpp:3:5: error: 'y' was not declared");
}

TEST(DiagnosticsTest, NamesUndefinedReferencesWithoutTemporaryFiles) {
  EXPECT_EQ(summarise_errors("/usr/bin/ld: /tmp/ccX1y2Z3.o: in function `solve':\n"
                             "kernel.cpp:(.text+0x5): undefined reference to `foo'\n"
                             "collect2: error: ld returned 1 exit status\n"),
            "kernel.cpp: undefined reference to `foo'");
}

TEST(DiagnosticsTest, MarksErrorsOfTheAssembler) {
  EXPECT_EQ(summarise_errors("{standard input}: Assembler messages:\n"
                             "{standard input}:4: Error: no such instruction: `foo bar'\n"),
            "within the kernel's asm: {standard input}:4: Error: no such instruction: `foo bar'");
  EXPECT_EQ(summarise_errors("/src/kernel.cpp: Assembler messages:\n"
                             "/src/kernel.cpp:7: Error: no such instruction: `foo bar'\n"),
            "kernel.cpp:7: Error: no such instruction: `foo bar'");
  EXPECT_EQ(summarise_cuda_errors("ptxas application ptx input, line 27; error   : Unknown symbol "
                                  "'foo'\nptxas fatal   : Ptx assembly aborted due to errors\n"),
            "within the kernel's asm: ptxas application ptx input, line 27; error   : Unknown "
            "symbol 'foo'\nptxas fatal   : Ptx assembly aborted due to errors");
}

TEST(DiagnosticsTest, IsBounded) {
  std::string text;
  for (int i = 0; i < 100; ++i) {
    text += "kernel.cpp:" + std::to_string(i) + ":1: error: " + std::string(5000, 'e') + "\n";
  }
  EXPECT_LE(summarise_errors(text, 3).size(), 1000U);
}

TEST(DiagnosticsTest, CutsBetweenCharactersAndReplacesInvalidBytes) {
  const std::string error = "kernel.cpp:1:1: error: ";
  EXPECT_EQ(summarise_errors(error + "stray '\xE2\x82' and '\xFF' but 'é'"),
            error + "stray '?\?' and '?' but 'é'");
  const std::string text = summarise_errors(error + std::string(276, 'e') + "é");
  EXPECT_EQ(text, error + std::string(276, 'e'));
}

TEST(DiagnosticsTest, KeepsTheBeginningIfNoLineIsAnError) {
  EXPECT_EQ(summarise_errors("g++: killed"), "g++: killed");
}

}  // namespace
}  // namespace warpsmith::sandbox
