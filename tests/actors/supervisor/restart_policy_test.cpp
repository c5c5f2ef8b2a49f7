// SPDX-License-Identifier: Apache-2.0
#include "actors/supervisor/restart_policy.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "tests/support/rapidcheck_seed.hpp"

namespace warpsmith::actors {
namespace {

using std::chrono::milliseconds;

const std::chrono::steady_clock::time_point start{};

RestartTable table_with(RestartLimits limits) {
  RestartTable table;
  table.fill(limits);
  return table;
}

milliseconds delay_of(const RestartDecision& decision) {
  return std::get<RestartAfter>(decision).delay;
}

TEST(RestartPolicyTest, DelaysGrowUpToTheirBound) {
  RestartPolicy policy{table_with({.max_restarts = 9,
                                   .window = milliseconds{60'000},
                                   .first_delay = milliseconds{100},
                                   .max_delay = milliseconds{500}})};
  for (const int expected : {100, 200, 400, 500, 500}) {
    EXPECT_EQ(delay_of(policy.on_failure(FailureClass::crashed, start)), milliseconds{expected});
  }
}

TEST(RestartPolicyTest, TooManyFailuresWithinTheWindowAreFinal) {
  RestartPolicy policy{table_with({.max_restarts = 2, .window = milliseconds{1000}})};
  EXPECT_TRUE(std::holds_alternative<RestartAfter>(policy.on_failure(FailureClass::hung, start)));
  EXPECT_TRUE(std::holds_alternative<RestartAfter>(policy.on_failure(FailureClass::hung, start)));
  const auto last = policy.on_failure(FailureClass::hung, start + milliseconds{999});
  ASSERT_TRUE(std::holds_alternative<GiveUp>(last));
  EXPECT_EQ(std::get<GiveUp>(last).reason, "hung: 2 restarts within 1000 ms, at most 2 allowed");
}

TEST(RestartPolicyTest, FailuresOutsideTheWindowAreForgottenWithTheirDelay) {
  RestartPolicy policy{table_with({.max_restarts = 1, .window = milliseconds{1000}})};
  const auto first = delay_of(policy.on_failure(FailureClass::crashed, start));
  const auto later = policy.on_failure(FailureClass::crashed, start + milliseconds{1000});
  EXPECT_EQ(delay_of(later), first);
}

TEST(RestartPolicyTest, ClassesAreCountedSeparately) {
  RestartPolicy policy{table_with({.max_restarts = 1})};
  (void)policy.on_failure(FailureClass::peer_lost, start);
  EXPECT_TRUE(
      std::holds_alternative<RestartAfter>(policy.on_failure(FailureClass::crashed, start)));
  EXPECT_TRUE(std::holds_alternative<GiveUp>(policy.on_failure(FailureClass::crashed, start)));
}

TEST(RestartPolicyTest, RejectedInputIsNeverRestarted) {
  RestartPolicy policy;
  EXPECT_TRUE(std::holds_alternative<GiveUp>(policy.on_failure(FailureClass::rejected, start)));
}

TEST(RestartPolicyTest, EveryErrorCodeHasAClass) {
  EXPECT_EQ(failure_class_of(ErrorCode::timeout), FailureClass::hung);
  EXPECT_EQ(failure_class_of(ErrorCode::disk_full), FailureClass::resource);
  EXPECT_EQ(failure_class_of(ErrorCode::invalid_config), FailureClass::rejected);
  EXPECT_EQ(failure_class_of(ErrorCode::peer_lost), FailureClass::peer_lost);
  EXPECT_EQ(failure_class_of(ErrorCode::infrastructure), FailureClass::crashed);
}

RC_GTEST_PROP(RestartPolicyProperty, NoWindowHasMoreRestartsThanAllowed, ()) {
  const auto allowed = *rc::gen::inRange<uint32_t>(0, 6);
  const auto gaps = *rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 700));
  RestartPolicy policy{table_with({.max_restarts = allowed, .window = milliseconds{1000}})};
  std::vector<std::chrono::steady_clock::time_point> restarts;
  auto now = start;
  for (const int gap : gaps) {
    now += milliseconds{gap};
    const auto decision = policy.on_failure(FailureClass::crashed, now);
    if (std::holds_alternative<GiveUp>(decision)) continue;
    RC_ASSERT(delay_of(decision) <= milliseconds{10'000});
    restarts.push_back(now);
    const auto within = std::count_if(restarts.begin(), restarts.end(),
                                      [&](auto at) { return now - at < milliseconds{1000}; });
    RC_ASSERT(within <= static_cast<int64_t>(allowed));
  }
}

}  // namespace
}  // namespace warpsmith::actors
