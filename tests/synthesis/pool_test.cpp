// SPDX-License-Identifier: Apache-2.0
#include "synthesis/pool.hpp"

#include <gtest/gtest.h>

#include <set>

namespace warpsmith::synthesis {
namespace {

Pool pool_of(size_t count) {
  std::vector<Task> tasks(count);
  for (size_t i = 0; i < count; ++i) tasks[i].id = std::to_string(i);
  return {std::move(tasks), RandomStream{1, "pool"}};
}

TEST(PoolTest, EveryRoundHoldsEveryTaskOnce) {
  Pool pool = pool_of(5);
  for (int round = 0; round < 3; ++round) {
    std::set<std::string> seen;
    for (int i = 0; i < 5; ++i) seen.insert(pool.next().id);
    EXPECT_EQ(seen.size(), 5U);
  }
}

TEST(PoolTest, AddedTaskComesUpInTheRunningRound) {
  Pool pool = pool_of(4);
  (void)pool.next();
  Task late;
  late.id = "late";
  pool.add(late);
  std::set<std::string> seen;
  for (int i = 0; i < 4; ++i) seen.insert(pool.next().id);
  EXPECT_TRUE(seen.contains("late"));
}

TEST(PoolTest, RecordKeepsTheBestSpeedup) {
  Pool pool = pool_of(2);
  pool.record("1", 2.0, true, 1.4);
  pool.record("1", -1.0, false, 0.0);
  EXPECT_EQ(pool.stats(1).attempts, 2U);
  EXPECT_EQ(pool.stats(1).passed, 1U);
  EXPECT_DOUBLE_EQ(pool.stats(1).best_speedup, 1.4);
}

}  // namespace
}  // namespace warpsmith::synthesis
