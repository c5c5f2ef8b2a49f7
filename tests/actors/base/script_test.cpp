// SPDX-License-Identifier: Apache-2.0
#include "actors/base/script.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "runtime/environment.hpp"
#include "tests/support/temporary_folder.hpp"

namespace warpsmith::actors {
namespace {

using std::chrono::milliseconds;
using testing::AllOf;
using testing::EndsWith;
using testing::StartsWith;

/// Uses the shell as the interpreter.
class ScriptTest : public testing::Test {
 protected:
  void SetUp() override { ::setenv("WARPSMITH_PYTHON", "/bin/sh", 1); }
  void TearDown() override { ::setenv("WARPSMITH_PYTHON", before_.c_str(), 1); }

  Result<std::string> run(const std::string& text, milliseconds patience = milliseconds{20'000}) {
    std::ofstream(script()) << text;
    return run_script(script(), {"one", "two words"}, patience);
  }
  std::string script() const { return (folder_.path() / "script").string(); }

 private:
  const std::string before_ = python_interpreter().string();
  test_support::TemporaryFolder folder_;
};

TEST_F(ScriptTest, ReturnsStandardOutput) {
  EXPECT_EQ(run("echo \"$1, $2\"; echo aside >&2").value(), "one, two words\n");
}

TEST_F(ScriptTest, FailureSaysHowTheScriptEnded) {
  const auto failed = run("echo wrong >&2; exit 3");
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, ErrorCode::process_failed);
  EXPECT_EQ(failed.error().message, script() + ": exit code 3: wrong\n");
  EXPECT_THAT(run("kill -9 $$").error().message, EndsWith(": signal 9: "));
}

TEST_F(ScriptTest, RefusedArgumentsAreReported) {
  const auto failed = run("printf 'usage: script\\nscript: error: no style x\\n' >&2; exit 2");
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(failed.error().message, "script: error: no style x");
}

TEST_F(ScriptTest, EndsAtItsTimeLimit) {
  const auto late = run("exec sleep 100", milliseconds{1000});
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, ErrorCode::timeout);
  EXPECT_THAT(late.error().message, AllOf(StartsWith(script()), EndsWith("not done within 1 s")));
}

TEST(ScriptNumbersTest, ReadsTheNamedNumbers) {
  const auto numbers = numbers_of("peer.py", R"({"a": 1.5, "b": 2, "c": "x"})", {"a", "b"});
  ASSERT_TRUE(numbers);
  EXPECT_EQ(*numbers, (std::map<std::string, double>{{"a", 1.5}, {"b", 2}}));
}

TEST(ScriptNumbersTest, MissingNumberReportsTheWholeOutput) {
  for (const std::string output : {R"({"b": 2})", R"({"a": "fast"})", R"([1.5])", "Traceback"}) {
    const auto numbers = numbers_of("peer.py", output, {"a"});
    ASSERT_FALSE(numbers) << output;
    EXPECT_EQ(numbers.error().code, ErrorCode::parse_failed);
    EXPECT_EQ(numbers.error().message, "peer.py: unexpected output: " + output);
  }
}

}  // namespace
}  // namespace warpsmith::actors
