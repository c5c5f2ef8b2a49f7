// SPDX-License-Identifier: Apache-2.0
#include "actors/ledger/admission.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <deque>
#include <limits>

#include "tests/support/rapidcheck_seed.hpp"

namespace warpsmith::actors {
namespace {

constexpr uint64_t many = 1'000'000;

TEST(AdmissionTest, SynchronousModeAdmitsExactlyOneBatch) {
  const AdmissionLimits limits{.max_lag = 0, .max_in_flight = many};
  EXPECT_EQ(admission_capacity(limits, {.untrained = 0, .trajectories_per_step = 32}), 32U);
  EXPECT_EQ(admission_capacity(limits, {.untrained = 31, .trajectories_per_step = 32}), 1U);
  EXPECT_EQ(admission_capacity(limits, {.untrained = 32, .trajectories_per_step = 32}), 0U);
}

TEST(AdmissionTest, BoundInFlightAppliesForEveryLag) {
  const AdmissionLimits limits{.max_lag = 100, .max_in_flight = 10};
  EXPECT_EQ(admission_capacity(limits, {.untrained = 4, .trajectories_per_step = 64}), 6U);
  EXPECT_EQ(admission_capacity(
                limits, {.untrained = 10, .trajectories_per_step = 64, .learner_starves = true}),
            0U);
}

TEST(AdmissionTest, StarvingLearnerGetsOneMore) {
  const AdmissionLimits limits{.max_lag = 0, .max_in_flight = 10};
  const AdmissionView view{.untrained = 4, .trajectories_per_step = 3, .learner_starves = true};
  EXPECT_EQ(admission_capacity(limits, view), 1U);
}

TEST(AdmissionTest, NonFiniteRateCountsAsOne) {
  const AdmissionLimits limits{.max_lag = 1, .max_in_flight = many};
  for (const double rate : {0.0, -3.0, std::nan(""), std::numeric_limits<double>::infinity()}) {
    EXPECT_EQ(admission_capacity(limits, {.untrained = 0, .trajectories_per_step = rate}), 2U);
  }
}

TEST(AdmissionTest, LargestLimitsDoNotOverflow) {
  const AdmissionLimits limits{.max_lag = UINT32_MAX, .max_in_flight = UINT64_MAX};
  EXPECT_EQ(admission_capacity(limits, {.untrained = 0, .trajectories_per_step = 1e300}),
            uint64_t{1'000'000'000'000'000});
}

TEST(AdmissionTest, StepRateFollowsTheSteps) {
  StepRate rate{32, 4};
  EXPECT_DOUBLE_EQ(rate.per_step(), 32);
  rate.observe(16);
  EXPECT_DOUBLE_EQ(rate.per_step(), 16);  // the first step replaces the expectation
  for (int i = 0; i < 100; ++i) rate.observe(64);
  EXPECT_NEAR(rate.per_step(), 64, 1e-6);
  for (int i = 0; i < 100; ++i) rate.observe(0);
  EXPECT_GE(rate.per_step(), 1);
}

RC_GTEST_PROP(AdmissionProperty, EqualsTheFormulaOfAReaLWhenStepsAreWhole, ()) {
  const auto batch = *rc::gen::inRange<uint64_t>(1, 256);
  const auto version = *rc::gen::inRange<uint32_t>(0, 1000);
  const auto lag = *rc::gen::inRange<uint32_t>(0, 16);
  const auto untrained = *rc::gen::inRange<uint64_t>(0, 5000);
  const uint64_t kept = version * batch + untrained;  // admitted − dropped
  const auto areal =
      static_cast<int64_t>((uint64_t{lag} + version + 1) * batch) - static_cast<int64_t>(kept);
  const uint64_t ours =
      admission_capacity({.max_lag = lag, .max_in_flight = UINT64_MAX},
                         {.untrained = untrained, .trajectories_per_step = double(batch)});
  RC_ASSERT(static_cast<int64_t>(ours) == std::max<int64_t>(areal, 0));
}

/// Trajectories wait in order of admission; the learner takes whole batches. No trajectory's first
/// token is then older than the lag when it is trained.
RC_GTEST_PROP(AdmissionProperty, NothingAdmittedTrailsByMoreThanTheLag, ()) {
  const auto batch = *rc::gen::inRange<size_t>(1, 12);
  const auto lag = *rc::gen::inRange<uint32_t>(0, 5);
  const auto moves = *rc::gen::container<std::vector<bool>>(rc::gen::arbitrary<bool>());
  const AdmissionLimits limits{.max_lag = lag, .max_in_flight = many};
  std::deque<uint32_t> waiting;  // version at admission
  uint32_t version = 0;
  for (const bool admit : moves) {
    const AdmissionView view{.untrained = waiting.size(),
                             .trajectories_per_step = static_cast<double>(batch)};
    if (admit && admission_capacity(limits, view) > 0) waiting.push_back(version);
    if (admit || waiting.size() < batch) continue;
    for (size_t i = 0; i < batch; ++i) {
      RC_ASSERT(version - waiting.front() <= lag);
      waiting.pop_front();
    }
    ++version;
  }
}

}  // namespace
}  // namespace warpsmith::actors
