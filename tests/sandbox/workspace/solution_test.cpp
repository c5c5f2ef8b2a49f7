// SPDX-License-Identifier: Apache-2.0
// Mistakes: applied, or refused with the file and the reason.
#include "sandbox/workspace/solution.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "tests/support/temporary_folder.hpp"

namespace warpsmith::sandbox {
namespace {

using testing::HasSubstr;

class MistakeTest : public testing::Test {
 protected:
  Result<FileSet> made(const std::string& json) const {
    std::ofstream{folder_.path() / "wrong.json"} << json;
    return with_mistake({{"plan.toml", "alpha = 0.5\n"}}, folder_.path() / "wrong.json");
  }
  std::string refusal(const std::string& json) const {
    const auto files = made(json);
    return files ? "none" : files.error().message;
  }
  test_support::TemporaryFolder folder_;
};

TEST_F(MistakeTest, EditsTheFilesThatItNames) {
  const auto files = made(R"({"mistake": "no scale", "edits": {"plan.toml": [
    {"old_string": "0.5", "new_string": "1"}]}})");
  ASSERT_TRUE(files) << files.error().message;
  EXPECT_EQ(files->at("plan.toml"), "alpha = 1\n");
}

TEST_F(MistakeTest, RefusesWhatDoesNotFit) {
  EXPECT_THAT(refusal("[]"), HasSubstr("wrong.json: expected an object"));
  EXPECT_THAT(refusal("{"), HasSubstr("wrong.json: expected an object"));
  EXPECT_THAT(refusal(R"({"edits": {"kernels.cu": []}})"),
              HasSubstr("wrong.json: the solution has no kernels.cu"));
  EXPECT_THAT(refusal(R"({"edits": {"plan.toml": [{"old_string": "beta", "new_string": ""}]}})"),
              HasSubstr("wrong.json: plan.toml: "));
  EXPECT_THAT(refusal(R"({"edits": {"plan.toml": 3}})"), HasSubstr("wrong.json: plan.toml: "));
}

}  // namespace
}  // namespace warpsmith::sandbox
