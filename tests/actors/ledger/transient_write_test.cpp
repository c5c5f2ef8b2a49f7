// SPDX-License-Identifier: Apache-2.0
// Writes and syncs that fail for a while are repeated from memory, from the last durable byte. This
// program has its own write and sync calls, which fail on request, also for SQLite.
#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "actors/ledger/ledger_store.hpp"
#include "runtime/run/checkpoint.hpp"
#include "runtime/run/durable_file.hpp"
#include "runtime/run/run_queries.hpp"
#include "tests/actors/ledger/ledger_support.hpp"
#include "tests/support/temporary_folder.hpp"

namespace {

int failing_syncs = 0, failing_writes = 0, failing_page_writes = 0;

/// Whether the next call of this kind fails.
bool takes_failure(int& left) {
  if (left == 0) return false;
  --left;
  errno = EIO;
  return true;
}

ssize_t write_page(int file, const void* bytes, size_t size, off_t offset) {
  if (takes_failure(failing_page_writes)) return -1;
  return ::syscall(SYS_pwrite64, file, bytes, size, offset);
}

}  // namespace

extern "C" {

int fsync(int file) {
  return takes_failure(failing_syncs) ? -1 : static_cast<int>(::syscall(SYS_fsync, file));
}

int fdatasync(int file) {
  return takes_failure(failing_syncs) ? -1 : static_cast<int>(::syscall(SYS_fdatasync, file));
}

/// A failing write leaves its first bytes in the file.
ssize_t write(int file, const void* bytes, size_t size) {
  if (file > 2 && failing_writes > 0) {
    (void)::syscall(SYS_write, file, bytes, size / 2);
    (void)takes_failure(failing_writes);
    return -1;
  }
  return ::syscall(SYS_write, file, bytes, size);
}

ssize_t pwrite(int file, const void* bytes, size_t size, off_t offset) {
  return write_page(file, bytes, size, offset);
}

ssize_t pwrite64(int file, const void* bytes, size_t size, off_t offset) {
  return write_page(file, bytes, size, offset);
}

}  // extern "C"

namespace warpsmith::actors {
namespace {

using namespace test_support;
using warpsmith::test_support::TemporaryFolder;

class TransientWriteTest : public testing::Test {
 protected:
  LedgerStore open() {
    LedgerStore store = open_store(paths_, {.durability = Durability::on_flush});
    must(store.begin(0));
    return store;
  }
  /// Two trajectories with a segment each, in one group.
  static void add_group(LedgerStore& store) {
    for (int i = 0; i < 2; ++i) {
      const auto id = must(store.admit(sample_task(), {1, 0}));
      must(store.append(sample_segment(id, 0)));
    }
  }
  /// What is wrong with the first `count` trajectories, read by a new store; empty: nothing.
  std::string check(TrajectoryId count) {
    LedgerStore store = open_store(paths_);
    if (!store.damage().empty()) return store.damage();
    if (store.counts().admitted != count) return "another number of trajectories";
    for (TrajectoryId id = 1; id <= count; ++id) {
      const auto whole = store.load(id);
      if (!whole) return whole.error().message;
      if (whole->segments.size() != 1) return "a segment is lost or repeated";
      if (!same_segment(whole->segments[0], sample_segment(id, 0))) return "a segment differs";
    }
    return "";
  }
  void TearDown() override { failing_syncs = failing_writes = failing_page_writes = 0; }

  TemporaryFolder folder_;
  RunPaths paths_ = run_paths(folder_.path());
};

TEST_F(TransientWriteTest, AFailedSyncIsRepeatedWithTheBytesSinceTheLastOne) {
  {
    LedgerStore store = open();
    add_group(store);
    must(store.flush());
    add_group(store);
    failing_syncs = 3;
    const auto flushed = store.flush();
    EXPECT_TRUE(flushed) << flushed.error().message;
    EXPECT_EQ(failing_syncs, 0);
  }
  EXPECT_EQ(check(4), "");
}

TEST_F(TransientWriteTest, AShortWriteIsRepeatedFromTheLastWholeRecord) {
  {
    LedgerStore store = open();
    add_group(store);
    failing_writes = 2;
    add_group(store);
    EXPECT_EQ(failing_writes, 0);
    must(store.flush());
  }
  EXPECT_EQ(check(4), "");
}

TEST_F(TransientWriteTest, AFailedCommitIsRepeatedWithAllRowsOfItsGroup) {
  {
    LedgerStore store = open();
    add_group(store);
    must(store.flush());
    for (const int failures : {1, 2, 3}) {
      add_group(store);
      failing_page_writes = failures;
      const auto flushed = store.flush();
      EXPECT_TRUE(flushed) << flushed.error().message;
      EXPECT_EQ(failing_page_writes, 0);
    }
  }
  EXPECT_EQ(check(8), "");
}

TEST_F(TransientWriteTest, ACheckpointIsWrittenAgain) {
  const auto store = must(CheckpointStore::open(paths_.checkpoints()));
  int calls = 0;
  failing_syncs = 2;
  const auto written = store.write({1, 1}, [&](const std::filesystem::path& into) {
    ++calls;
    return write_file_durably(into / "model.safetensors", "weights");
  });
  ASSERT_TRUE(written) << written.error().message;
  EXPECT_EQ(calls, 3);
  const auto search = must(store.newest());
  EXPECT_TRUE(search.found && search.complaints.empty());
}

TEST_F(TransientWriteTest, TheLastFailedRepetitionUndoesTheGroupAndIsAnEvent) {
  {
    LedgerStore store = open();
    add_group(store);
    must(store.flush());
    add_group(store);
    failing_syncs = write_attempts;
    const auto flushed = store.flush();
    ASSERT_FALSE(flushed);
    EXPECT_EQ(flushed.error().code, ErrorCode::io_failed);
    const auto events = must(recent_events(store.database(), 10));
    ASSERT_EQ(events.size(), 1U);
    EXPECT_EQ(events[0].kind, "write_failed");
    EXPECT_EQ(events[0].text, flushed.error().message);
    add_group(store);  // the disk works again
    must(store.flush());
  }
  EXPECT_EQ(check(4), "");
}

}  // namespace
}  // namespace warpsmith::actors
