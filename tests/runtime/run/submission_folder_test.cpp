// SPDX-License-Identifier: Apache-2.0
#include "runtime/run/submission_folder.hpp"

#include <gtest/gtest.h>

#include <fstream>

#include "tests/support/temporary_folder.hpp"

namespace warpsmith {
namespace {

const std::string hash(64, 'a');

TEST(SubmissionFolderTest, ReturnsTheStoredFiles) {
  const test_support::TemporaryFolder base;
  const SubmissionFolder kept(base.path() / "submissions");
  const FileSet files{{"kernel.cpp", std::string("a\0b\xFF", 4)}, {"sub/part.h", "x"}};
  ASSERT_TRUE(kept.keep(hash, files));
  EXPECT_EQ(kept.read(hash).value(), files);
  std::ifstream in(kept.place(hash) / "sub/part.h");
  EXPECT_EQ(in.get(), 'x');
}

TEST(SubmissionFolderTest, StoresAHashOnceAndLeavesNoTemporaryFolder) {
  const test_support::TemporaryFolder base;
  const SubmissionFolder kept(base.path() / "submissions");
  ASSERT_TRUE(kept.keep(hash, {{"a", "1"}}));
  ASSERT_TRUE(kept.keep(hash, {{"a", "1"}}));
  const auto entries = [](const auto& folder) {
    return std::distance(std::filesystem::directory_iterator(folder), {});
  };
  EXPECT_EQ(entries(base.path()), 1);
  EXPECT_EQ(entries(base.path() / "submissions"), 1);
}

TEST(SubmissionFolderTest, RefusesNamesOutsideTheFolder) {
  const test_support::TemporaryFolder base;
  const SubmissionFolder kept(base.path());
  EXPECT_EQ(kept.keep(hash, {{"../a", "1"}}).error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(kept.keep(hash, {{"/a", "1"}}).error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(kept.keep("../x", {{"a", "1"}}).error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(kept.read("../x").error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(kept.read(hash).error().code, ErrorCode::not_found);
}

}  // namespace
}  // namespace warpsmith
