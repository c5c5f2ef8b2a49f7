// SPDX-License-Identifier: Apache-2.0
// Masked GAE: golden numbers, and properties. Baselines.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "policy/learn/advantage.hpp"
#include "tests/policy/learn/golden.hpp"
#include "tests/support/rapidcheck_seed.hpp"

namespace warpsmith::policy {
namespace {

constexpr double tolerance = 1e-9;  // float64 over at most 64 additions

struct Episode {
  std::vector<uint8_t> mask;
  std::vector<double> rewards;
  std::vector<double> values;

  AdvantageChunk chunk(size_t from, size_t to) const {
    return {std::span{mask}.subspan(from, to - from), std::span{rewards}.subspan(from, to - from),
            std::span{values}.subspan(from, to - from)};
  }
  AdvantageChunk whole() const { return chunk(0, mask.size()); }
};

double arbitrary_number() {
  return *rc::gen::inRange(-1000, 1000) / 250.0;
}

Episode arbitrary_episode(bool all_ones) {
  Episode e;
  const int n = *rc::gen::inRange(1, 48);
  for (int t = 0; t < n; ++t) {
    e.mask.push_back(all_ones ? uint8_t{1} : *rc::gen::element<uint8_t>(0, 1));
    e.rewards.push_back(arbitrary_number());
    e.values.push_back(arbitrary_number());
  }
  return e;
}

AdvantageConfig arbitrary_config() {
  return {.gamma = *rc::gen::inRange(0, 101) / 100.0, .lambda = *rc::gen::inRange(0, 101) / 100.0};
}

void require_near(const std::vector<double>& a, const std::vector<double>& b) {
  RC_ASSERT(a.size() == b.size());
  for (size_t i = 0; i < a.size(); ++i) RC_ASSERT(std::abs(a[i] - b[i]) < tolerance);
}

/// The textbook recursion, in which every token is an action.
std::vector<double> textbook(const Episode& e, const AdvantageConfig& c) {
  std::vector<double> advantages(e.values.size());
  double next = 0;
  double next_value = 0;
  for (size_t t = e.values.size(); t-- > 0;) {
    next = e.rewards[t] + c.gamma * next_value - e.values[t] + c.gamma * c.lambda * next;
    next_value = e.values[t];
    advantages[t] = next;
  }
  return advantages;
}

TEST(AdvantageTest, MatchesNumpyReference) {
  for (const auto& g : golden()["gae"]) {
    const Episode e{g["mask"], g["rewards"], g["values"]};
    const Advantages got = masked_gae({.gamma = g["gamma"], .lambda = g["lam"]}, e.whole());
    for (size_t t = 0; t < e.mask.size(); ++t) {
      EXPECT_NEAR(got.advantages[t], g["advantages"][t], tolerance);
      EXPECT_NEAR(got.targets[t], g["targets"][t], tolerance);
    }
  }
}

TEST(AdvantageTest, AllOnesMaskYieldsTextbookGae) {
  ASSERT_TRUE(rc::check([] {
    const Episode e = arbitrary_episode(/*all_ones=*/true);
    const AdvantageConfig c = arbitrary_config();
    require_near(masked_gae(c, e.whole()).advantages, textbook(e, c));
  }));
}

TEST(AdvantageTest, InsertingMaskedTokensAnywhereChangesNothing) {
  ASSERT_TRUE(rc::check([] {
    const Episode e = arbitrary_episode(/*all_ones=*/false);
    const AdvantageConfig c = arbitrary_config();
    Episode longer;
    std::vector<size_t> origin;
    for (size_t t = 0; t < e.mask.size(); ++t) {
      const int inserted = *rc::gen::inRange(0, 4);
      longer.mask.insert(longer.mask.end(), static_cast<size_t>(inserted), 0);
      longer.rewards.resize(longer.mask.size(), 0.0);
      longer.values.resize(longer.mask.size(), arbitrary_number());
      origin.push_back(longer.mask.size());
      longer.mask.push_back(e.mask[t]);
      longer.rewards.push_back(e.rewards[t]);
      longer.values.push_back(e.values[t]);
    }
    const Advantages wanted = masked_gae(c, e.whole());
    const Advantages got = masked_gae(c, longer.whole());
    for (size_t t = 0; t < origin.size(); ++t) {
      RC_ASSERT(std::abs(wanted.advantages[t] - got.advantages[origin[t]]) < tolerance);
      RC_ASSERT(std::abs(wanted.targets[t] - got.targets[origin[t]]) < tolerance);
    }
  }));
}

TEST(AdvantageTest, RewardOnMaskedTailCountsOnTheLastActionToken) {
  ASSERT_TRUE(rc::check([] {
    Episode on_action = arbitrary_episode(/*all_ones=*/true);
    const AdvantageConfig c = arbitrary_config();
    const double reward = arbitrary_number();
    const auto tail = static_cast<size_t>(*rc::gen::inRange(1, 8));
    on_action.mask.resize(on_action.mask.size() + tail, 0);
    on_action.rewards.resize(on_action.mask.size(), 0.0);
    on_action.values.resize(on_action.mask.size(), arbitrary_number());
    Episode on_tail = on_action;
    on_action.rewards[on_action.mask.size() - tail - 1] += reward;
    on_tail.rewards.back() += reward;
    require_near(masked_gae(c, on_action.whole()).advantages,
                 masked_gae(c, on_tail.whole()).advantages);
  }));
}

TEST(AdvantageTest, ChunkedEqualsSequential) {
  ASSERT_TRUE(rc::check([] {
    const Episode e = arbitrary_episode(/*all_ones=*/false);
    const AdvantageConfig c = arbitrary_config();
    const Advantages wanted = masked_gae(c, e.whole());
    BackwardGae gae{c.gamma, c.lambda};
    std::vector<double> got(e.mask.size());
    size_t end = e.mask.size();
    while (end > 0) {
      const auto from = end - static_cast<size_t>(*rc::gen::inRange(1, static_cast<int>(end) + 1));
      const Advantages piece = gae.chunk(e.chunk(from, end));
      std::copy(piece.advantages.begin(), piece.advantages.end(),
                got.begin() + static_cast<std::ptrdiff_t>(from));
      end = from;
    }
    require_near(got, wanted.advantages);
  }));
}

TEST(AdvantageTest, LengthAdaptiveLambdaFollowsTheFormula) {
  const AdvantageConfig c{.lambda_alpha = 0.05};
  EXPECT_DOUBLE_EQ(lambda_of(c, 1000), 1 - 1 / 50.0);
  EXPECT_DOUBLE_EQ(lambda_of(c, 2), 0.0);  // would be negative
  EXPECT_DOUBLE_EQ(lambda_of(c, 0), 0.0);
  EXPECT_DOUBLE_EQ(lambda_of({.lambda = 0.7}, 1000), 0.7);
}

TEST(AdvantageTest, LambdaOneYieldsMonteCarloTargets) {
  const Episode e{{1, 0, 1, 1}, {0, 0, 0, 3}, {0.5, 9, -1, 2}};
  const Advantages got = masked_gae({.lambda = 1.0}, e.whole());
  EXPECT_EQ(got.targets, (std::vector<double>{3, 0, 3, 3}));
}

TEST(AdvantageTest, RefusesArraysOfDifferentLength) {
  const Episode e{{1, 1}, {0}, {0, 0}};
  const AdvantageChunk crooked{e.mask, e.rewards, e.values};
  EXPECT_THROW(masked_gae({}, crooked), std::invalid_argument);
}

TEST(PromptBaselineTest, UnknownPromptGetsTheOverallMean) {
  PromptBaseline baseline;
  EXPECT_EQ(baseline.of(1), 0.0);
  baseline.add(1, 2.0);
  baseline.add(2, 4.0);
  EXPECT_DOUBLE_EQ(baseline.of(3), 3.0);
}

TEST(PromptBaselineTest, ConvergesToEachPromptsOwnMean) {
  PromptBaseline baseline;
  for (int i = 0; i < 200; ++i) {
    baseline.add(1, 3.0);
    baseline.add(2, -1.0);
  }
  EXPECT_NEAR(baseline.of(1), 3.0, 0.25);  // prior of 2 trajectories against 20
  EXPECT_NEAR(baseline.of(2), -1.0, 0.25);
}

TEST(PromptBaselineTest, RestoredEntriesContinueIdentically) {
  PromptBaseline a;
  for (int i = 0; i < 30; ++i) a.add(static_cast<uint64_t>(i % 3), i * 0.5);
  PromptBaseline b;
  b.restore(a.entries());
  EXPECT_NEAR(a.of(0), b.of(0), 1e-12);
  EXPECT_NEAR(a.of(99), b.of(99), 1e-12);
}

TEST(RunningScaleTest, FirstStepIsUnscaledAndLaterOnesFollow) {
  RunningScale scale;
  EXPECT_EQ(scale.divisor(), 1.0);
  scale.add_step(4.0);
  EXPECT_DOUBLE_EQ(scale.divisor(), 2.0);
  scale.add_step(0.0);  // no effect: a step without advantages
  EXPECT_DOUBLE_EQ(scale.divisor(), 2.0);
}

}  // namespace

}  // namespace warpsmith::policy
