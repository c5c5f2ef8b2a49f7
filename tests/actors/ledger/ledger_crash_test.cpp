// SPDX-License-Identifier: Apache-2.0
// A process is killed (SIGKILL) at random moments of random ledger work, repeatedly on one run
// folder. Everything that it had acknowledged must be present when the folder is next opened.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstring>
#include <map>

#include "actors/ledger/ledger_store.hpp"
#include "runtime/random_stream.hpp"
#include "runtime/run/run_queries.hpp"
#include "tests/actors/ledger/ledger_support.hpp"
#include "tests/support/temporary_folder.hpp"

namespace warpsmith::actors {
namespace {

using namespace test_support;
using warpsmith::test_support::TemporaryFolder;

enum class Did : uint32_t { admit, append, close, drop, train, checkpoint };

/// An answer of the child through a pipe; at most PIPE_BUF bytes, hence whole or absent.
struct Answer {
  Did did = Did::admit;
  uint32_t number = 0;  // segment or step
  uint64_t id = 0;
};

/// The parent's record of the answers.
struct Known {
  uint32_t segments = 0;
  bool closed = false;
  bool dropped = false;
  uint32_t trained_step = 0;  // 0: no answer has said that it is trained
};
struct World {
  std::map<TrajectoryId, Known> all;
  uint32_t durable = 0;

  void take(const Answer& answer) {
    Known& known = all[answer.id];
    if (answer.did == Did::append) known.segments = std::max(known.segments, answer.number + 1);
    if (answer.did == Did::close) known.closed = true;
    if (answer.did == Did::drop) known.dropped = true;
    if (answer.did == Did::train) known.trained_step = answer.number;
    if (answer.did == Did::checkpoint) durable = answer.number;
  }
  /// The next process starts from `step`, so answers about later steps are void.
  void restore(uint32_t step) {
    durable = step;
    for (auto& [id, known] : all) {
      if (known.trained_step > step) known.trained_step = 0;
    }
  }
};

/// The child's endless work. It sends a group's answers when the group is durable.
class Worker {
 public:
  Worker(const RunPaths& paths, uint64_t seed, int pipe)
      : draw_(seed, "ledger_crash_test"),
        grouped_(seed % 2 == 0),
        store_(open_store(paths,
                          {.durability = grouped_ ? Durability::on_flush : Durability::each_call,
                           .segments = {.rotate_bytes = 4096}})),
        pipe_(pipe) {}

  void work_forever(uint32_t restored_step) {
    must(store_.begin(restored_step));
    for (;;) {
      for (uint64_t left = grouped_ ? 1 + draw_.below(20) : 1; left > 0; --left) one_request();
      must(store_.flush());
      for (const Answer& answer : answers_) {
        if (::write(pipe_, &answer, sizeof answer) != sizeof answer) ::_exit(1);
      }
      answers_.clear();
    }
  }

 private:
  TrajectoryId any_in(TrajectoryPhase phase) {
    const auto ids = store_.core().in_phase(phase);
    return ids.empty() ? 0 : ids[draw_.below(ids.size())];
  }
  void one_request() {
    const uint64_t kind = draw_.below(16);
    const TrajectoryId open = any_in(TrajectoryPhase::open);
    if (kind < 3 || open == 0) {
      const TrajectoryId id = must(store_.admit(sample_task(), {store_.incarnation(), 0}));
      answers_.push_back({Did::admit, 0, id});
    } else if (kind < 9) {
      const uint32_t number = store_.core().at(open).segments;
      must(store_.append(sample_segment(open, number)));
      answers_.push_back({Did::append, number, open});
    } else if (kind < 12) {
      must(store_.close(open, sample_outcome(open)));
      answers_.push_back({Did::close, 0, open});
    } else if (kind < 13) {
      must(store_.drop(open, DropReason::infrastructure, "test"));
      answers_.push_back({Did::drop, 0, open});
    } else if (kind < 15) {
      train_one();
    } else if (store_.last_step() > store_.core().durable_step()) {
      must(store_.checkpointed(store_.last_step()));
      answers_.push_back({Did::checkpoint, store_.last_step(), open});
    }
  }
  void train_one() {
    const TrajectoryId id = any_in(TrajectoryPhase::closed);
    if (id == 0) return;
    const uint32_t step = store_.last_step() + 1;
    must(store_.mark_trained({{store_.incarnation(), step}, {id}, {}}));
    answers_.push_back({Did::train, step, id});
  }

  RandomStream draw_;
  bool grouped_;
  LedgerStore store_;
  int pipe_;
  std::vector<Answer> answers_;
};

[[noreturn]] void child_main(const RunPaths& paths, uint64_t seed, uint32_t step, int pipe) {
  try {
    Worker{paths, seed, pipe}.work_forever(step);
  } catch (const std::exception& e) {
    (void)!::write(STDERR_FILENO, e.what(), std::strlen(e.what()));
  }
  ::_exit(1);
}

/// Reads `wanted` answers, kills the child and reads the rest. False if the child ended itself.
bool take_and_kill(pid_t child, int pipe, uint64_t wanted, World& world) {
  Answer answer;
  uint64_t got = 0;
  for (; got < wanted && ::read(pipe, &answer, sizeof answer) == sizeof answer; ++got) {
    world.take(answer);
  }
  (void)::kill(child, SIGKILL);
  while (::read(pipe, &answer, sizeof answer) == sizeof answer) world.take(answer);
  int status = 0;
  (void)::waitpid(child, &status, 0);
  return got == wanted && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
}

void expect_known(LedgerStore& store, TrajectoryId id, const Known& known) {
  ASSERT_TRUE(store.core().was_admitted(id)) << id;
  const LedgerEntry& entry = store.core().at(id);
  EXPECT_GE(entry.segments, known.segments) << id;
  EXPECT_TRUE(!known.dropped || entry.phase == TrajectoryPhase::dropped) << id;
  EXPECT_TRUE(known.trained_step == 0 || entry.step == known.trained_step) << id;
  const auto trajectory = store.load(id);
  ASSERT_TRUE(trajectory.has_value()) << trajectory.error().message;
  ASSERT_EQ(trajectory->segments.size(), entry.segments);
  for (const Segment& segment : trajectory->segments) {
    EXPECT_TRUE(same_segment(segment, sample_segment(id, segment.number))) << id;
  }
  if (known.closed) {
    EXPECT_NE(entry.phase, TrajectoryPhase::open) << id;
    EXPECT_EQ(trajectory->outcome.reward, sample_outcome(id).reward);
  }
}

void expect_everything_there(const RunPaths& paths, const World& world) {
  LedgerStore store = open_store(paths);
  EXPECT_EQ(store.damage(), "");
  EXPECT_TRUE(store.counts().is_conserved());
  EXPECT_GE(store.core().durable_step(), world.durable);
  for (const auto& [id, known] : world.all) {
    if (id != 0) expect_known(store, id, known);
  }
  const auto twice = store.database().connection().integer(
      "SELECT count(*) FROM (SELECT trajectory FROM trainings WHERE rolled_back = 0 "
      "GROUP BY trajectory HAVING count(*) > 1)");
  EXPECT_EQ(twice.value(), 0);
  const auto summary = summarize(store.database());
  EXPECT_TRUE(summary->is_conserved());
  EXPECT_EQ(summary->trained, store.counts().trained());
  EXPECT_EQ(summary->in_flight, store.counts().in_flight());
}

TEST(LedgerCrashTest, AnsweredRequestsSurviveKillsAtRandomMoments) {
  const TemporaryFolder folder;
  const RunPaths paths = run_paths(folder.path());
  RandomStream draw{42, "ledger_crash_test/kills"};
  World world;
  for (uint64_t round = 0; round < 20; ++round) {
    std::array<int, 2> ends{};
    ASSERT_EQ(::pipe(ends.data()), 0);
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      ::close(ends[0]);
      child_main(paths, round, world.durable, ends[1]);
    }
    ::close(ends[1]);
    world.restore(world.durable);
    EXPECT_TRUE(take_and_kill(child, ends[0], draw.below(80), world)) << "round " << round;
    ::close(ends[0]);
    expect_everything_there(paths, world);
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(world.all.size(), 20U);
}

}  // namespace
}  // namespace warpsmith::actors
