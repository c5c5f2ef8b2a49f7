// SPDX-License-Identifier: Apache-2.0
// What one command of the agent leaves for the next one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sandbox/service/shell.hpp"
#include "tests/sandbox/support/sandbox_fixture.hpp"
#include "tests/support/temporary_folder.hpp"

namespace warpsmith::sandbox {
namespace {

using testing::hang_guard;
using ::testing::HasSubstr;

class ShellStateTest : public ::testing::Test {
 protected:
  ShellResult run(const std::string& command, uint32_t timeout_ms = 120'000) {
    auto result =
        run_shell({workspace_.path(), command, timeout_ms, 20'000, 1U << 30U}, hang_guard());
    if (!result) throw std::runtime_error(result.error().message);
    return *result;
  }
  std::string out_of(const std::string& command) { return run(command).out; }
  test_support::TemporaryFolder workspace_;
};

TEST_F(ShellStateTest, FolderExportsAndFunctionsStay) {
  EXPECT_EQ(run("mkdir 'a b'; cd 'a b'; export X='1 \"2\"'; y=3; f() { echo \"f $1\"; }; exit 4")
                .exit_code,
            4);
  EXPECT_EQ(out_of("pwd; echo \"$X,$y\"; f 5; echo $#"), "/workspace/a b\n1 \"2\",\nf 5\n0\n");
  EXPECT_EQ(out_of("cd ..; set -eux; false; echo not reached"), "");
  EXPECT_EQ(out_of("pwd; echo on"), "/workspace\non\n");
}

TEST_F(ShellStateTest, AnotherWorkspaceStartsFresh) {
  run("export X=1");
  test_support::TemporaryFolder other;
  const auto result =
      run_shell({other.path(), "echo \"$X\"; pwd", 120'000, 20'000, 1U << 30U}, hang_guard());
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(result->out, "\n/workspace\n");
}

TEST_F(ShellStateTest, AHugeStateIsRefusedAndTheEarlierOneIsKept) {
  run("export X=1");
  const ShellResult huge = run("export X=$(head -c 70000 /dev/zero | tr '\\0' x)");
  EXPECT_THAT(huge.err, HasSubstr("the state of the shell was not kept"));
  EXPECT_THAT(huge.err, HasSubstr("expected at most 65536 characters, got 7"));
  EXPECT_EQ(huge.exit_code, 0);
  EXPECT_EQ(out_of("echo $X"), "1\n");
}

TEST_F(ShellStateTest, AKilledCallLeavesTheEarlierState) {
  run("mkdir a; cd a; export X=1");
  EXPECT_TRUE(run("cd /tmp; export X=2; sleep 30", 500).timed_out);
  EXPECT_EQ(out_of("pwd; echo $X"), "/workspace/a\n1\n");
}

TEST_F(ShellStateTest, AJobBeginsWithTheStateAndKeepsNone) {
  run("export X=1");
  auto job = start_command({workspace_.path(), "echo $X; export X=2", 20'000, 20'000, 1U << 30U},
                           /*cgroup_required=*/false, ShellState::read);
  ASSERT_TRUE(job) << job.error().message;
  const auto exit = (*job)->wait(hang_guard());
  ASSERT_TRUE(exit) << exit.error().message;
  EXPECT_EQ(exit->out, "1\n");
  EXPECT_EQ(out_of("echo $X"), "1\n");
}

TEST_F(ShellStateTest, AMissingFolderIsNamed) {
  run("mkdir a; cd a; rmdir ../a");
  const ShellResult next = run("pwd");
  EXPECT_THAT(next.err, HasSubstr("/workspace/a: No such file or directory"));
  EXPECT_EQ(next.out, "/workspace\n");
  EXPECT_EQ(run("true").err, "") << "told once";
}

}  // namespace
}  // namespace warpsmith::sandbox
