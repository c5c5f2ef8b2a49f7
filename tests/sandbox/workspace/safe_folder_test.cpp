// SPDX-License-Identifier: Apache-2.0
#include "sandbox/workspace/safe_folder.hpp"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <fstream>

#include "runtime/random_stream.hpp"
#include "tests/sandbox/workspace/workspace_fixture.hpp"

namespace warpsmith::sandbox {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

std::string text_of(const fs::path& path) {
  std::ifstream in{path};
  return {std::istreambuf_iterator<char>(in), {}};
}

TEST(RelativePathTest, IsNormalised) {
  EXPECT_EQ(relative_path("solution/kernel.cpp").value(), "solution/kernel.cpp");
  EXPECT_EQ(relative_path("./solution//./kernel.cpp").value(), "solution/kernel.cpp");
  EXPECT_EQ(relative_path("/workspace/solution/kernel.cpp").value(), "solution/kernel.cpp");
}

TEST(RelativePathTest, RejectsPathsThatCouldLeave) {
  for (const char* path : {"", ".", "/etc/passwd", "..", "a/../../b", "/workspace/../x",
                           "/workspace//etc/passwd", "a\nb", "a/b/c/d/e/f/g/h/i/j/k/l/m"}) {
    EXPECT_FALSE(relative_path(path)) << path;
  }
  EXPECT_FALSE(relative_path(std::string(300, 'x')));
  EXPECT_FALSE(relative_path(std::string(600, 'x')));
  EXPECT_FALSE(relative_path(std::string_view("a\0b", 3)));
}

TEST(RelativePathTest, RandomPathsNeverKeepAnEscape) {
  RandomStream random{5, "path_fuzz"};
  const std::string alphabet = "./a\\ \x01~w";
  for (int i = 0; i < 20'000; ++i) {
    std::string text = random.below(3) == 0 ? "/workspace/" : "";
    for (uint64_t n = random.below(16); n > 0; --n) text += alphabet[random.below(alphabet.size())];
    const auto path = relative_path(text);
    if (!path) continue;
    EXPECT_FALSE(path->starts_with('/')) << text;
    for (const auto& part : fs::path(*path)) EXPECT_NE(part, "..") << text;
    EXPECT_EQ(relative_path(*path).value(), *path);
  }
}

class SafeFolderTest : public WorkspaceFixture {};

TEST_F(SafeFolderTest, MakesParentsWritesAndReadsBack) {
  ASSERT_TRUE(files().write("solution/deep/er/a.txt", "one\ntwo"));
  EXPECT_EQ(files().read("solution/deep/er/a.txt", 100).value(), "one\ntwo");
  EXPECT_TRUE(files().has_file("solution/deep/er/a.txt"));
  EXPECT_FALSE(files().has_file("solution/deep"));
}

TEST_F(SafeFolderTest, SymbolicLinksAreNotFollowed) {
  std::ofstream(outside_.path() / "secret") << "host";
  fs::create_symlink(outside_.path() / "secret", folder() / "solution/link");
  fs::create_directory_symlink(outside_.path(), folder() / "out");
  EXPECT_THAT(files().read("solution/link", 100).error().message, HasSubstr("symbolic links"));
  EXPECT_THAT(files().read("out/secret", 100).error().message, HasSubstr("symbolic links"));
  EXPECT_FALSE(files().write("out/planted", "x"));
  EXPECT_FALSE(fs::exists(outside_.path() / "planted"));
}

TEST_F(SafeFolderTest, AFolderInTheWayIsTheAgentsMistake) {
  fs::create_directories(folder() / "solution/.warpsmith-new");
  fs::create_directories(folder() / "taken/inner");
  const auto temporary = files().write("solution/a.txt", "x");
  ASSERT_FALSE(temporary);
  EXPECT_EQ(temporary.error().code, ErrorCode::invalid_argument);
  EXPECT_THAT(temporary.error().message, HasSubstr(".warpsmith-new beside it is in the way"));
  const auto taken = files().write("taken", "x");
  ASSERT_FALSE(taken);
  EXPECT_EQ(taken.error().code, ErrorCode::invalid_argument);
}

TEST_F(SafeFolderTest, WritingReplacesALinkInsteadOfItsTarget) {
  std::ofstream(outside_.path() / "secret") << "host";
  fs::create_symlink(outside_.path() / "secret", folder() / "solution/kernel.cpp");
  ASSERT_TRUE(files().write("solution/kernel.cpp", "mine"));
  EXPECT_EQ(text_of(outside_.path() / "secret"), "host");
  EXPECT_EQ(files().read("solution/kernel.cpp", 100).value(), "mine");
}

TEST_F(SafeFolderTest, WritingBreaksAHardLink) {
  fs::create_hard_link(folder() / "task.json", folder() / "solution/kernel.cpp");
  ASSERT_TRUE(files().write("solution/kernel.cpp", "mine"));
  EXPECT_EQ(text_of(folder() / "task.json"), "{}\n");
}

TEST_F(SafeFolderTest, PipesNeitherBlockNorAreListed) {
  ASSERT_EQ(::mkfifo((folder() / "solution/kernel.cpp").c_str(), 0600), 0);
  EXPECT_THAT(files().read("solution/kernel.cpp", 100).error().message,
              HasSubstr("no regular file"));
  EXPECT_FALSE(files().has_file("solution/kernel.cpp"));
  ASSERT_TRUE(files().write("solution/kernel.cpp", "mine"));
  EXPECT_EQ(files().read("solution/kernel.cpp", 100).value(), "mine");
}

TEST_F(SafeFolderTest, SizesAndFoldersAreRefusedWithTheirName) {
  ASSERT_TRUE(files().write("big", std::string(101, 'x')));
  EXPECT_EQ(files().read("big", 100).error().code, ErrorCode::capacity);
  EXPECT_EQ(files().read("solution", 100).error().message, "solution: is a folder");
  EXPECT_EQ(files().read("nothing", 100).error().message, "nothing: no such file");
  EXPECT_FALSE(files().write("solution", "x"));
  EXPECT_FALSE(files().write("big/x", "x"));
}

TEST_F(SafeFolderTest, WalkListsRegularFilesAndStopsAtItsLimits) {
  ASSERT_TRUE(files().write("solution/b", "2"));
  ASSERT_TRUE(files().write("solution/a", "1"));
  fs::create_directory_symlink(outside_.path(), folder() / "solution/out");
  const auto found = files().walk("solution", {});
  ASSERT_TRUE(found) << found.error().message;
  ASSERT_EQ(found->size(), 2U);
  EXPECT_EQ((*found)[0].path, "solution/a");
  EXPECT_EQ(files().walk("", {.entries = 3}).error().code, ErrorCode::capacity);
  EXPECT_FALSE(files().walk("", {.depth = 0}));
  EXPECT_FALSE(files().walk("solution/out", {}));
}

}  // namespace
}  // namespace warpsmith::sandbox
