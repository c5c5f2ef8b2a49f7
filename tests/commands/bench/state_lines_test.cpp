// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <sstream>

#include "commands/bench/bench.hpp"

namespace warpsmith::commands {
namespace {

TEST(StateLinesTest, AFileGetsEachStateOnce) {
  std::ostringstream out;
  StateLines lines(out, 0, 2);
  lines.show(0, "relu: loading");
  lines.show(1, "waiting for GPU 0");
  lines.show(0, "relu: loading");
  lines.show(1, "waiting for GPU 0");
  lines.clear();
  EXPECT_EQ(out.str(), "relu: loading\nwaiting for GPU 0\n");
}

TEST(StateLinesTest, ATerminalGetsOneLineForAllSlotsInPlace) {
  std::ostringstream out;
  StateLines lines(out, 80, 2);
  lines.show(0, "relu: loading");
  lines.show(1, "gelu: loading");
  EXPECT_EQ(out.str(), "\r\x1b[Krelu: loading\r\x1b[Krelu: loading | gelu: loading");
  out.str("");
  lines.clear();
  EXPECT_EQ(out.str(), "\r\x1b[K");
}

TEST(StateLinesTest, ALineIsNotLongerThanTheTerminal) {
  std::ostringstream out;
  StateLines lines(out, 40, 2);
  lines.show(0, std::string(100, 'a'));
  out.str("");
  lines.show(1, std::string(100, 'b'));
  EXPECT_EQ(out.str(), "\r\x1b[K" + std::string(16, 'a') + " | " + std::string(16, 'b'));
}

}  // namespace
}  // namespace warpsmith::commands
