// SPDX-License-Identifier: Apache-2.0
#include "commands/standard_output.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

namespace warpsmith::commands {
namespace {

TEST(StandardOutputTest, SuccessfulOutputKeepsTheExitCode) {
  std::ostringstream out;
  out << "text";
  EXPECT_EQ(flush_output(ExitCode::success, out), ExitCode::success);
  EXPECT_EQ(flush_output(ExitCode::judged_wrong, out), ExitCode::judged_wrong);
}

TEST(StandardOutputTest, FailedOutputTurnsSuccessIntoFailure) {
  std::ofstream full("/dev/full");
  full << "text";
  testing::internal::CaptureStderr();
  EXPECT_EQ(flush_output(ExitCode::success, full), ExitCode::infrastructure);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "warpsmith: cannot write to standard output\n");
  EXPECT_EQ(flush_output(ExitCode::bad_input, full), ExitCode::bad_input)
      << "the code before says more";
}

}  // namespace
}  // namespace warpsmith::commands
