// SPDX-License-Identifier: Apache-2.0
#include "runtime/run/durable_file.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include "runtime/bytes.hpp"
#include "runtime/run/owned_folder.hpp"
#include "tests/support/temporary_folder.hpp"

namespace warpsmith {
namespace {

using test_support::TemporaryFolder;

TEST(DurableFileTest, WritingReplacesTheWholeContentAndLeavesNoOtherFile) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "config.toml";
  ASSERT_TRUE(write_file_durably(path, "a long first content").has_value());
  ASSERT_TRUE(write_file_durably(path, "short").has_value());
  EXPECT_EQ(read_text_file(path, 100).value(), "short");
  const std::filesystem::directory_iterator entries{folder.path()};
  EXPECT_EQ(std::distance(begin(entries), end(entries)), 1);
}

TEST(DurableFileTest, ASweepRemovesWhatAKilledWriterLeft) {
  const TemporaryFolder folder;
  const auto write = [&] {
    const rlimit most{32, 32};  // bytes per file: writing more ends the process
    (void)::setrlimit(RLIMIT_FSIZE, &most);
    (void)write_file_whole(folder.path() / "facts", std::string(100, 'x'));
    ::_exit(0);
  };
  EXPECT_EXIT(write(), testing::KilledBySignal(SIGXFSZ), "");
  EXPECT_FALSE(std::filesystem::is_empty(folder.path()));
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "facts"));
  OwnedFolder::sweep(folder.path());
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(DurableFileTest, ReadingMoreThanAllowedIsRefused) {
  const TemporaryFolder folder;
  ASSERT_TRUE(write_file_durably(folder.path() / "big", std::string(200'000, 'x')).has_value());
  const auto read = read_text_file(folder.path() / "big", 100'000);
  ASSERT_FALSE(read.has_value());
  EXPECT_EQ(read.error().code, ErrorCode::parse_failed);
}

TEST(DurableFileTest, PipeIsRefusedAtOnce) {
  const TemporaryFolder folder;
  const auto pipe = folder.path() / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  const auto read = read_text_file(pipe, 10);
  ASSERT_FALSE(read.has_value());
  EXPECT_EQ(read.error().message, pipe.string() + ": expected a regular file");
}

TEST(DurableFileTest, FolderIsNotATextFile) {
  const TemporaryFolder folder;
  const auto read = read_text_file(folder.path(), 10);
  ASSERT_FALSE(read.has_value());
  EXPECT_EQ(read.error().message, "cannot read " + folder.path().string() + ": Is a directory");
}

TEST(DurableFileTest, ALinkLoopIsAnInvalidArgument) {
  const TemporaryFolder folder;
  const auto link = folder.path() / "link";
  std::filesystem::create_symlink("link", link);
  const auto read = read_text_file(link, 10);
  ASSERT_FALSE(read.has_value());
  EXPECT_EQ(read.error().code, ErrorCode::invalid_argument);
  EXPECT_THAT(read.error().message, testing::EndsWith("Too many levels of symbolic links"));
}

TEST(DurableFileTest, MissingFileIsNamed) {
  const auto read = read_text_file("/nowhere/at/all", 10);
  ASSERT_FALSE(read.has_value());
  EXPECT_EQ(read.error().code, ErrorCode::not_found);
  EXPECT_NE(read.error().message.find("/nowhere/at/all"), std::string::npos);
}

TEST(DurableFileTest, FullDeviceHasItsOwnErrorCode) {
  const auto full = open_file("/dev/full", O_WRONLY);
  if (!full) GTEST_SKIP() << "no /dev/full on this machine";
  const auto written = write_all(*full, "x", "/dev/full");
  ASSERT_FALSE(written.has_value());
  EXPECT_EQ(written.error().code, ErrorCode::disk_full);
}

TEST(DurableFileTest, HashOfAFileIsTheHashOfItsBytes) {
  const TemporaryFolder folder;
  const std::string content(3'000'000, 'w');
  std::ofstream{folder.path() / "data"} << content;
  EXPECT_EQ(hash_of_file(folder.path() / "data").value(), "2429cf4e97634e431cd038e93fed8d74")
      << "as xxhsum -H2 prints it";
  std::ofstream{folder.path() / "none"} << "";
  EXPECT_EQ(hash_of_file(folder.path() / "none").value(), "99aa06d3014798d86001c324468d497f");
}

}  // namespace
}  // namespace warpsmith
