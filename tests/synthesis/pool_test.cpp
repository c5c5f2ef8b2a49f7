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

Pool pool_of(size_t count, CurriculumConfig curriculum = {}, uint64_t seed = 1) {
  std::vector<Task> tasks(count);
  for (size_t i = 0; i < count; ++i) tasks[i].id = std::to_string(i);
  return {std::move(tasks), RandomStream{seed, "pool"}, curriculum};
}

constexpr CurriculumConfig by_headroom{.rule = Curriculum::headroom};

/// A correct attempt with that reward if it is positive, else a wrong one.
Outcome earning(double reward) {
  return {.reward = reward, .verdict = reward > 0 ? VerdictClass::passed : VerdictClass::wrong};
}

std::map<std::string, int> drawn(Pool& pool, int draws) {
  std::map<std::string, int> counts;
  for (int i = 0; i < draws; ++i) ++counts[pool.next().id];
  return counts;
}

TEST(PoolTest, LimitsBoundHowOftenEachTaskIsDrawn) {
  Pool pool = pool_of(4);
  pool.limit({{"0", 3}, {"1", 0}, {"2", 1}, {"other", 5}});
  EXPECT_EQ(drawn(pool, 4), (std::map<std::string, int>{{"0", 3}, {"2", 1}}));
  EXPECT_TRUE(pool.exhausted());
}

TEST(PoolTest, WithoutLimitsAPoolIsNeverExhausted) {
  Pool pool = pool_of(2);
  (void)drawn(pool, 100);
  EXPECT_FALSE(pool.exhausted());
}

TEST(PoolTest, EveryRoundContainsEveryTaskOnce) {
  Pool pool = pool_of(5);
  for (int round = 0; round < 3; ++round) {
    std::set<std::string> seen;
    for (int i = 0; i < 5; ++i) seen.insert(pool.next().id);
    EXPECT_EQ(seen.size(), 5U);
  }
}

TEST(PoolTest, AnAddedTaskIsDrawnInTheCurrentRound) {
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
  pool.record("0", earning(1.0));
  EXPECT_DOUBLE_EQ(headroom(pool.stats(0)), 2.0);
  for (int i = 0; i < 100; ++i) pool.record("0", earning(3.0));
  EXPECT_NEAR(headroom(pool.stats(0)), 0.0, 1e-4);
  pool.record("1", earning(7.5));  // a speed-up as reward may exceed 3
  EXPECT_DOUBLE_EQ(headroom(pool.stats(1)), 0.0);
}

TEST(PoolTest, HeadroomDrawsTasksWithMoreHeadroomMoreOften) {
  Pool pool = pool_of(4, by_headroom);
  const double rewards[] = {3.0, 2.0, 1.0, -1.0};  // headroom 0, 1, 2, 4
  for (int i = 0; i < 4; ++i) pool.record(std::to_string(i), earning(rewards[i]));
  const auto counts = drawn(pool, 7 * 8);  // seven rounds of four and four
  // Each task once per round; of the other 28 draws they get 0, 1/7, 2/7 and 4/7.
  const int expected[] = {7 + 0, 7 + 4, 7 + 8, 7 + 16};
  for (int i = 0; i < 4; ++i) {
    EXPECT_NEAR(counts.at(std::to_string(i)), expected[i], 7) << "task " << i;
  }
  EXPECT_EQ(counts.at("0"), 7);
  EXPECT_LT(counts.at("1"), counts.at("3"));
}

TEST(PoolTest, ATaskAtItsRooflineHasNoHeadroom) {
  Pool pool = pool_of(0, by_headroom);
  pool.add(Task{.id = "copy"}, 1.02);  // at most 2 % faster than eager
  (void)pool.record("copy", earning(1));
  EXPECT_DOUBLE_EQ(headroom(pool.stats(0)), 0.0);
}

TEST(PoolTest, TheSuccessBandPrefersTasksThatAreSometimesSolved) {
  Pool pool = pool_of(3, {.rule = Curriculum::success_band});
  for (int i = 0; i < 40; ++i) {
    (void)pool.record("0", earning(-1));
    (void)pool.record("1", earning(i % 2 == 0 ? 1 : -1));
    (void)pool.record("2", earning(2));
  }
  const auto counts = drawn(pool, 6 * 5);  // five rounds of three and three
  EXPECT_EQ(counts.at("0"), 5);
  EXPECT_EQ(counts.at("1"), 5 + 15);
  EXPECT_EQ(counts.at("2"), 5);
}

TEST(PoolTest, SolvedTasksRetireAndReturnWhenNoOtherIsLeft) {
  Pool pool = pool_of(2, {.retire_after = 3});
  EXPECT_FALSE(pool.record("0", earning(3)));
  EXPECT_FALSE(pool.record("0", earning(3)));
  EXPECT_EQ(pool.record("0", earning(3)), TaskUse::retired);
  EXPECT_EQ(drawn(pool, 4).count("0"), 0U);
  for (int i = 0; i < 3; ++i) (void)pool.record("1", earning(3));
  EXPECT_EQ(pool.count(TaskUse::retired), 2U);
  EXPECT_EQ(drawn(pool, 4).size(), 2U);
  EXPECT_EQ(pool.record("1", earning(1)), TaskUse::drawn) << "it is no longer solved";
}

TEST(PoolTest, ImpossibleTimesQuarantineATask) {
  Pool pool = pool_of(2, {.quarantine_after = 2});
  const Outcome impossible{.reward = -1, .verdict = VerdictClass::too_fast};
  EXPECT_FALSE(pool.record("0", impossible));
  EXPECT_FALSE(pool.record("0", earning(-1))) << "not in a row";
  EXPECT_FALSE(pool.record("0", impossible));
  EXPECT_EQ(pool.record("0", impossible), TaskUse::quarantined);
  EXPECT_EQ(drawn(pool, 5).count("0"), 0U);
}

TEST(PoolTest, HeadroomOfEqualTasksDrawsThemEquallyOften) {
  Pool pool = pool_of(5, by_headroom);
  for (const auto& [id, count] : drawn(pool, 30)) EXPECT_EQ(count, 6) << "task " << id;
}

TEST(PoolTest, TheSameSeedDrawsTheSameTasks) {
  Pool one = pool_of(6, by_headroom, 9), other = pool_of(6, by_headroom, 9);
  for (int i = 0; i < 40; ++i) {
    const std::string id = one.next().id;
    ASSERT_EQ(id, other.next().id) << "draw " << i;
    one.record(id, earning(i % 4 - 1));
    other.record(id, earning(i % 4 - 1));
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

RC_GTEST_PROP(PoolProperty, NoTaskStarvesForAnyRewards, ()) {
  const auto count = *rc::gen::inRange<size_t>(1, 12);
  const auto seed = *rc::gen::arbitrary<uint64_t>();
  Pool pool = pool_of(count, by_headroom, seed);
  std::map<std::string, size_t> last;
  for (size_t i = 0; i < count; ++i) last[std::to_string(i)] = 0;
  // A round has at most one draw more than twice the tasks.
  const size_t bound = 2 * (2 * count + 1);
  for (size_t draw = 1; draw <= 40 * count; ++draw) {
    const std::string id = pool.next().id;
    last[id] = draw;
    pool.record(id, earning(*rc::gen::inRange(-10, 40) / 10.0));
    for (const auto& [task, seen] : last) RC_ASSERT(draw - seen <= bound);
  }
}

}  // namespace
}  // namespace warpsmith::synthesis
