// SPDX-License-Identifier: Apache-2.0
#include "commands/mcp/judge_tools.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>

#include "runtime/run/durable_file.hpp"
#include "tests/support/temporary_folder.hpp"

namespace warpsmith::commands {
namespace {

namespace fs = std::filesystem;

class WriteSolutionTest : public testing::Test {
 protected:
  void SetUp() override { ::setenv("TMPDIR", folder_.path().c_str(), 1); }
  void TearDown() override { ::unsetenv("TMPDIR"); }

  test_support::TemporaryFolder folder_;
};

TEST_F(WriteSolutionTest, FilesLieInAFolderThatItRemoves) {
  {
    const auto given = write_solution({{"kernel.cpp", "int a;"}, {"part/b.hpp", ""}}).value();
    EXPECT_EQ(read_text_file(given.path() / "kernel.cpp", 100).value(), "int a;");
    EXPECT_TRUE(fs::exists(given.path() / "part" / "b.hpp"));
  }
  EXPECT_TRUE(fs::is_empty(folder_.path()));
  EXPECT_FALSE(write_solution({{"../kernel.cpp", "int a;"}}));
  EXPECT_TRUE(fs::is_empty(folder_.path()));
}

TEST_F(WriteSolutionTest, AnErrorNamesTheFileAndNoFolderOfTheServer) {
  const auto nested = write_solution({{"a", "x"}, {"a/b", "y"}});
  ASSERT_FALSE(nested);
  EXPECT_EQ(nested.error().message, "cannot open files/a/b: Not a directory");
  EXPECT_EQ(write_solution({{"kernel.cpp", 5}}).error().message,
            "files: \"kernel.cpp\": expected its text, a string, got 5");
  EXPECT_EQ(write_solution(5).error().message,
            "files: expected an object of 1 to 16 files, {name: text}, got 5");
}

TEST_F(WriteSolutionTest, FoldersOfAKilledServerAreRemovedByTheNext) {
  const auto given = write_solution({{"kernel.cpp", "int a;"}}).value();
  ASSERT_EQ(given.path().parent_path().filename().string().find(owned_folder_prefix), 0U)
      << "it has no owner, so nothing removes it";
  const fs::path left = folder_.path() / (std::string(owned_folder_prefix) + "killed");
  fs::create_directories(left / "files");
  std::ofstream(left / "lock") << "";  // not locked
  const auto next = write_solution({{"kernel.cpp", "int b;"}}).value();
  EXPECT_FALSE(fs::exists(left));
  EXPECT_TRUE(fs::exists(given.path())) << "its owner is alive";
}

}  // namespace
}  // namespace warpsmith::commands
