// SPDX-License-Identifier: Apache-2.0
#include "synthesis/pool.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>
#include <numeric>
#include <set>

#include "tests/support/rapidcheck_seed.hpp"

namespace warpsmith::synthesis {
namespace {

Pool pool_of(size_t count, Curriculum curriculum = Curriculum::rounds, uint64_t seed = 1) {
  std::vector<Task> tasks(count);
  for (size_t i = 0; i < count; ++i) tasks[i].id = std::to_string(i);
  return {std::move(tasks), RandomStream{seed, "pool"}, curriculum};
}

std::map<std::string, int> drawn(Pool& pool, int draws) {
  std::map<std::string, int> counts;
  for (int i = 0; i < draws; ++i) ++counts[pool.next().id];
  return counts;
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

TEST(PoolTest, HeadroomIsTheHighestMilestoneLessTheRecentReward) {
  Pool pool = pool_of(2);
  EXPECT_DOUBLE_EQ(headroom(pool.stats(0)), 4.0);  // no attempt yet
  pool.record("0", 1.0);
  EXPECT_DOUBLE_EQ(headroom(pool.stats(0)), 2.0);
  for (int i = 0; i < 100; ++i) pool.record("0", 3.0);
  EXPECT_NEAR(headroom(pool.stats(0)), 0.0, 1e-4);
  pool.record("1", 7.5);  // a speed-up as reward may exceed 3
  EXPECT_DOUBLE_EQ(headroom(pool.stats(1)), 0.0);
}

TEST(PoolTest, HeadroomDrawsTasksWithMoreHeadroomMoreOften) {
  Pool pool = pool_of(4, Curriculum::headroom);
  const double rewards[] = {3.0, 2.0, 1.0, -1.0};  // headroom 0, 1, 2, 4
  for (int i = 0; i < 4; ++i) pool.record(std::to_string(i), rewards[i]);
  const auto counts = drawn(pool, 7 * 8);  // seven rounds of four and four
  // Each task once per round; of the other 28 draws they get 0, 1/7, 2/7 and 4/7.
  const int expected[] = {7 + 0, 7 + 4, 7 + 8, 7 + 16};
  for (int i = 0; i < 4; ++i) {
    EXPECT_NEAR(counts.at(std::to_string(i)), expected[i], 7) << "task " << i;
  }
  EXPECT_EQ(counts.at("0"), 7);
  EXPECT_LT(counts.at("1"), counts.at("3"));
}

TEST(PoolTest, HeadroomOfEqualTasksDrawsThemEquallyOften) {
  Pool pool = pool_of(5, Curriculum::headroom);
  for (const auto& [id, count] : drawn(pool, 30)) EXPECT_EQ(count, 6) << "task " << id;
}

TEST(PoolTest, TheSameSeedDrawsTheSameTasks) {
  Pool one = pool_of(6, Curriculum::headroom, 9), other = pool_of(6, Curriculum::headroom, 9);
  for (int i = 0; i < 40; ++i) {
    const std::string id = one.next().id;
    ASSERT_EQ(id, other.next().id) << "draw " << i;
    one.record(id, i % 4 - 1);
    other.record(id, i % 4 - 1);
  }
}

RC_GTEST_PROP(PoolProperty, SharesAddUpAndAreRoundedByLessThanOne, ()) {
  const auto count = *rc::gen::inRange<size_t>(1, 40);
  const auto draws = *rc::gen::inRange<size_t>(0, 100);
  const double offset = *rc::gen::inRange(0, 1000) / 1000.0;
  std::vector<double> weights;
  weights.reserve(count);
  for (size_t i = 0; i < count; ++i) weights.push_back(*rc::gen::inRange(0, 400) / 100.0);
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  const auto shares = shares_of(weights, draws, offset);
  const size_t total = std::accumulate(shares.begin(), shares.end(), size_t{0});
  RC_ASSERT(total + 1 >= draws && total <= draws + 1);  // the sum's rounding may add or cost one
  for (size_t i = 0; i < count; ++i) {
    const double exact = static_cast<double>(draws) *
                         (sum > 0 ? weights[i] / sum : 1.0 / static_cast<double>(count));
    RC_ASSERT(std::abs(static_cast<double>(shares[i]) - exact) < 1 + 1e-9);
  }
}

RC_GTEST_PROP(PoolProperty, NoTaskStarvesWhateverTheRewards, ()) {
  const auto count = *rc::gen::inRange<size_t>(1, 12);
  const auto seed = *rc::gen::arbitrary<uint64_t>();
  Pool pool = pool_of(count, Curriculum::headroom, seed);
  std::map<std::string, size_t> last;
  for (size_t i = 0; i < count; ++i) last[std::to_string(i)] = 0;
  // A round has at most one draw more than twice the tasks.
  const size_t bound = 2 * (2 * count + 1);
  for (size_t draw = 1; draw <= 40 * count; ++draw) {
    const std::string id = pool.next().id;
    last[id] = draw;
    pool.record(id, *rc::gen::inRange(-10, 40) / 10.0);
    for (const auto& [task, seen] : last) RC_ASSERT(draw - seen <= bound);
  }
}

}  // namespace
}  // namespace warpsmith::synthesis
