// SPDX-License-Identifier: Apache-2.0
#include "commands/mcp/tool_arguments.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>

#include "runtime/run/durable_file.hpp"
#include "tests/support/temporary_folder.hpp"

namespace warpsmith::commands {
namespace {

namespace fs = std::filesystem;

class GivenFilesTest : public testing::Test {
 protected:
  void SetUp() override { ::setenv("TMPDIR", folder_.path().c_str(), 1); }
  void TearDown() override { ::unsetenv("TMPDIR"); }

  test_support::TemporaryFolder folder_;
};

TEST_F(GivenFilesTest, LieInAFolderThatEndsWithThem) {
  {
    const auto given = GivenFiles::write({{"kernel.cpp", "int a;"}, {"part/b.hpp", ""}}).value();
    EXPECT_EQ(read_text_file(given->folder() / "kernel.cpp", 100).value(), "int a;");
    EXPECT_TRUE(fs::exists(given->folder() / "part" / "b.hpp"));
  }
  EXPECT_TRUE(fs::is_empty(folder_.path()));
  EXPECT_FALSE(GivenFiles::write({{"../kernel.cpp", "int a;"}}));
  EXPECT_TRUE(fs::is_empty(folder_.path()));
}

TEST_F(GivenFilesTest, ThoseOfAKilledServerGoWithTheNext) {
  const auto given = GivenFiles::write({{"kernel.cpp", "int a;"}}).value();
  ASSERT_EQ(given->folder().parent_path().filename().string().find(owned_folder_prefix), 0U)
      << "it has no owner, so nothing removes it";
  const fs::path left = folder_.path() / (std::string(owned_folder_prefix) + "killed");
  fs::create_directories(left / "files");
  std::ofstream(left / "lock") << "";  // not locked
  const auto next = GivenFiles::write({{"kernel.cpp", "int b;"}}).value();
  EXPECT_FALSE(fs::exists(left));
  EXPECT_TRUE(fs::exists(given->folder())) << "its owner is alive";
}

}  // namespace
}  // namespace warpsmith::commands
