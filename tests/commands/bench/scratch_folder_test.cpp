// SPDX-License-Identifier: Apache-2.0
#include "commands/bench/scratch_folder.hpp"

#include <gtest/gtest.h>

#include <fstream>

#include "tests/support/temporary_folder.hpp"

namespace warpsmith::commands {
namespace {

namespace fs = std::filesystem;

class ScratchFolderTest : public testing::Test {
 protected:
  void SetUp() override { ::setenv("TMPDIR", folder_.path().c_str(), 1); }
  void TearDown() override { ::unsetenv("TMPDIR"); }
  bool nothing_is_left() const { return fs::is_empty(folder_.path()); }

  test_support::TemporaryFolder folder_;
};

TEST_F(ScratchFolderTest, IsEmptyAndRemovedWithItsContent) {
  {
    const ScratchFolder scratch;
    EXPECT_TRUE(fs::is_empty(scratch.path()));
    std::ofstream(scratch.path() / "kernel.cu") << "text";
    EXPECT_FALSE(nothing_is_left());
  }
  EXPECT_TRUE(nothing_is_left());
}

TEST_F(ScratchFolderTest, TheNextOneRemovesThatOfAKilledProcess) {
  const fs::path left = folder_.path() / (std::string(owned_folder_prefix) + "killed");
  fs::create_directories(left / "files");
  std::ofstream(left / "lock") << "";  // not locked
  const ScratchFolder own;
  EXPECT_FALSE(fs::exists(left));
  const ScratchFolder next;
  EXPECT_TRUE(fs::exists(own.path())) << "its owner is alive";
}

}  // namespace
}  // namespace warpsmith::commands
