// SPDX-License-Identifier: Apache-2.0
// The compile cache: hits, bounds, damage.

#include "sandbox/compile/compiled.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <vector>

#include "runtime/bytes.hpp"
#include "runtime/run/owned_folder.hpp"
#include "tests/sandbox/support/sandbox_fixture.hpp"
#include "tests/support/temporary_folder.hpp"

namespace warpsmith::sandbox {
namespace {

namespace fs = std::filesystem;
using test_support::TemporaryFolder;

std::string key_of(int i) {
  return std::string(63, 'a') + std::to_string(i);
}

TEST(CompileCacheTest, FindsWhatAnotherObjectInserted) {
  const TemporaryFolder folder;
  auto first = CompileCache::open(folder.path(), 1 << 20);
  ASSERT_TRUE(first);
  const std::string value("bytes\0with zero", 15);
  first->insert(key_of(1), value);
  auto second = CompileCache::open(folder.path(), 1 << 20);
  EXPECT_EQ(second->find(key_of(1)), value);
  EXPECT_FALSE(second->find(key_of(2)));
}

TEST(CompileCacheTest, DropsTheLeastRecentlyUsedBeyondItsBound) {
  const TemporaryFolder folder;
  auto cache = CompileCache::open(folder.path(), 10'000);
  for (int i = 0; i < 4; ++i) {
    cache->insert(key_of(i), std::string(2000, 'x'));
    // Distinct times of use without a wait.
    fs::last_write_time(folder.path() / key_of(i),
                        fs::file_time_type::clock::now() - std::chrono::hours{10 - i});
  }
  ASSERT_TRUE(cache->find(key_of(0)));  // now the most recent
  cache->insert(key_of(5), std::string(2000, 'x'));
  EXPECT_LE(cache->bytes(), 10'000U);
  EXPECT_TRUE(cache->find(key_of(0)));
  EXPECT_FALSE(cache->find(key_of(1)));
  EXPECT_TRUE(cache->find(key_of(5)));
}

/// Compilers of all contracts and slots share a folder.
TEST(CompileCacheTest, SeveralObjectsShareOneBound) {
  const TemporaryFolder folder;
  constexpr uint64_t bound = 100'000;
  std::vector<CompileCache> caches;
  caches.reserve(4);
  for (int i = 0; i < 4; ++i) caches.push_back(*CompileCache::open(folder.path(), bound));
  for (int i = 0; i < 300; ++i) {
    caches[static_cast<size_t>(i) % caches.size()].insert(sha256_hex(std::to_string(i)),
                                                          std::string(1000, 'x'));
  }
  uint64_t bytes = 0;
  for (const auto& entry : fs::directory_iterator(folder.path())) bytes += entry.file_size();
  EXPECT_LE(bytes, bound + bound / 4);
}

TEST(CompileCacheTest, RemovesDamagedEntries) {
  const TemporaryFolder folder;
  auto cache = CompileCache::open(folder.path(), 1 << 20);
  cache->insert(key_of(1), "content");
  const fs::path file = folder.path() / key_of(1);
  std::ofstream(file, std::ios::binary | std::ios::in).seekp(70) << "X";
  EXPECT_FALSE(cache->find(key_of(1)));
  EXPECT_FALSE(fs::exists(file));
}

TEST(CompileCacheTest, RemovesWhatAKilledWriterLeft) {
  const TemporaryFolder folder;
  const auto write = [&] {
    const rlimit most{32, 32};  // bytes of a file: the next one ends the process
    (void)::setrlimit(RLIMIT_FSIZE, &most);
    CompileCache::open(folder.path(), 1 << 20)->insert(key_of(1), "content");
    ::_exit(0);
  };
  EXPECT_EXIT(write(), ::testing::KilledBySignal(SIGXFSZ), "");
  EXPECT_FALSE(fs::is_empty(folder.path()));
  const auto written = OwnedFolder::make(folder.path());
  ASSERT_TRUE(written) << written.error().message;
  ASSERT_TRUE(CompileCache::open(folder.path(), 1 << 20));
  EXPECT_TRUE(fs::exists(written->path()));
  EXPECT_EQ(std::distance(fs::directory_iterator(folder.path()), {}), 1);
}

TEST(CompileCacheTest, AKilledCompilerRunsOnceMore) {
  const TemporaryFolder folder;
  auto cache = CompileCache::open(folder.path(), 1 << 20);
  int asked = 0;
  const auto killed_once = [&]() -> Result<Compiled> {
    JailExit exit;
    exit.killed_from_outside = ++asked == 1;
    if (auto whole = check_not_killed(exit); !whole) return tl::unexpected(whole.error());
    Compiled result;
    result.artefact = "object";
    return result;
  };
  const auto compiled = compile_once(*cache, key_of(1), killed_once);
  ASSERT_TRUE(compiled) << compiled.error().message;
  EXPECT_EQ(compiled->artefact, "object");
  EXPECT_EQ(asked, 2);
}

TEST(CompileCacheTest, KeepsNothingWithABoundOfZero) {
  const TemporaryFolder folder;
  auto cache = CompileCache::open(folder.path(), 0);
  cache->insert(key_of(1), "content");
  EXPECT_FALSE(cache->find(key_of(1)));
}

}  // namespace
}  // namespace warpsmith::sandbox
