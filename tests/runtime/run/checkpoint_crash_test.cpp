// SPDX-License-Identifier: Apache-2.0
// A process that writes and prunes checkpoints in a loop is killed at random moments. The newest
// checkpoint that it acknowledged (or a later one) is always found intact.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>

#include "runtime/random_stream.hpp"
#include "runtime/run/checkpoint.hpp"
#include "runtime/run/durable_file.hpp"
#include "tests/support/temporary_folder.hpp"

namespace warpsmith {
namespace {

using test_support::TemporaryFolder;

[[noreturn]] void write_forever(const std::filesystem::path& folder, uint32_t first, int pipe) {
  const auto store = CheckpointStore::open(folder);
  if (!store) ::_exit(1);
  for (uint32_t step = first;; ++step) {
    const auto written =
        store->write({1, step}, [&](const std::filesystem::path& into) -> Result<void> {
          for (const char* name : {"model.safetensors", "critic.safetensors", "optimizer"}) {
            auto ok = write_file_durably(into / name, std::string(20'000 + step, 'w'));
            if (!ok) return ok;
          }
          return {};
        });
    if (!written || ::write(pipe, &step, sizeof step) != sizeof step || !store->prune(2)) {
      ::_exit(1);
    }
  }
}

TEST(CheckpointCrashTest, AcknowledgedCheckpointSurvivesKilling) {
  const TemporaryFolder folder;
  RandomStream draw{5, "checkpoint_crash_test"};
  uint32_t acknowledged = 0;
  for (int round = 0; round < 10; ++round) {
    std::array<int, 2> ends{};
    ASSERT_EQ(::pipe(ends.data()), 0);
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      ::close(ends[0]);
      write_forever(folder.path(), acknowledged + 1, ends[1]);
    }
    ::close(ends[1]);
    for (uint64_t left = draw.below(4); left > 0; --left) {
      ASSERT_EQ(::read(ends[0], &acknowledged, sizeof acknowledged), ssize_t{sizeof acknowledged});
    }
    ASSERT_EQ(::kill(child, SIGKILL), 0);
    while (::read(ends[0], &acknowledged, sizeof acknowledged) == ssize_t{sizeof acknowledged}) {
    }
    ::close(ends[0]);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFSIGNALED(status)) << "round " << round;

    const auto store = CheckpointStore::open(folder.path());
    ASSERT_TRUE(store.has_value()) << store.error().message;
    const auto search = store->newest();
    ASSERT_TRUE(search.has_value()) << search.error().message;
    EXPECT_TRUE(search->complaints.empty());
    const uint32_t found = search->found ? search->found->manifest.version.step : 0;
    EXPECT_GE(found, acknowledged);
    // A kill between writing and pruning leaves one too many; the next owner prunes it.
    EXPECT_LE(store->steps()->size(), 3U);
    ASSERT_TRUE(store->prune(2).has_value());
    EXPECT_LE(store->steps()->size(), 2U);
    acknowledged = found;
  }
  EXPECT_GE(acknowledged, 5U);
}

}  // namespace
}  // namespace warpsmith
