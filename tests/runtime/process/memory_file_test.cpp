// SPDX-License-Identifier: Apache-2.0
// The seals of memory files.
#include "runtime/process/memory_file.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstring>

namespace warpsmith {
namespace {

UniqueFd reopened_writable(int fd) {
  return UniqueFd{::open(("/proc/self/fd/" + std::to_string(fd)).c_str(), O_RDWR | O_CLOEXEC)};
}

TEST(MemoryFileTest, CannotShrinkOrGrow) {
  const auto file = MemoryFile::create("m", 8192);
  ASSERT_TRUE(file);
  EXPECT_NE(::ftruncate(file->fd(), 0), 0);
  EXPECT_NE(::ftruncate(file->fd(), 1 << 20), 0);
}

TEST(MemoryFileTest, FutureWritesAreRefusedEvenAfterReopening) {
  auto file = MemoryFile::create("m", 4096);
  ASSERT_TRUE(file);
  ASSERT_TRUE(file->seal_future_writes());
  const UniqueFd again = reopened_writable(file->fd());
  ASSERT_TRUE(again);
  EXPECT_LT(::pwrite(again.get(), "x", 1, 0), 0);
  EXPECT_EQ(::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, again.get(), 0), MAP_FAILED);
  void* view = ::mmap(nullptr, 4096, PROT_READ, MAP_SHARED, again.get(), 0);
  ASSERT_NE(view, MAP_FAILED);
  EXPECT_NE(::mprotect(view, 4096, PROT_READ | PROT_WRITE), 0);
  file->bytes()[5] = std::byte{42};
  EXPECT_EQ(static_cast<const char*>(view)[5], 42);
  (void)::munmap(view, 4096);
}

TEST(MemoryFileTest, SealedCopyNeverChanges) {
  const auto file = MemoryFile::sealed_copy("c", "content");
  ASSERT_TRUE(file);
  EXPECT_EQ(std::memcmp(file->bytes().data(), "content", 7), 0);
  const UniqueFd again = reopened_writable(file->fd());
  EXPECT_LT(::pwrite(again.get(), "x", 1, 0), 0);
}

}  // namespace
}  // namespace warpsmith
