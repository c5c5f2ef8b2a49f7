// SPDX-License-Identifier: Apache-2.0
#include "commands/output_text.hpp"

#include <gtest/gtest.h>

namespace warpsmith::commands {
namespace {

TEST(TerminalTextTest, PlainTextIsUnchanged) {
  EXPECT_EQ(for_terminal("größer 数\n\ttext\n"), "größer 数\n\ttext\n");
}

TEST(TerminalTextTest, ControlCharactersAreEscaped) {
  EXPECT_EQ(for_terminal("\x1b[31mred\x1b]0;title\a"), "\\x1b[31mred\\x1b]0;title\\x07");
  EXPECT_EQ(for_terminal("over\rwritten\x7f"), "over\\x0dwritten\\x7f");
  EXPECT_EQ(for_terminal("\u009B31m"), "\\x9b31m") << "CSI as one character";
}

}  // namespace
}  // namespace warpsmith::commands
