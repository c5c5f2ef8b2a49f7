// SPDX-License-Identifier: Apache-2.0
#include "actors/state/credits.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "tests/support/rapidcheck_seed.hpp"

namespace warpsmith::actors {
namespace {

TEST(CreditsTest, PurseNeverGoesBelowZero) {
  CreditPurse purse;
  EXPECT_FALSE(purse.spend(1));
  purse.receive(3);
  EXPECT_TRUE(purse.spend(2));
  EXPECT_FALSE(purse.spend(2));
  EXPECT_EQ(purse.available(), 1U);
  purse.forget();
  EXPECT_FALSE(purse.spend(1));
}

TEST(CreditsTest, WindowGrantsWhatIsLeft) {
  CreditWindow window{10};
  EXPECT_EQ(window.grant("rollout-0", 7), 7U);
  EXPECT_EQ(window.grant("rollout-1", 7), 3U);
  EXPECT_EQ(window.grant("rollout-1", 7), 0U);
  EXPECT_TRUE(window.settle("rollout-0", 5).has_value());
  EXPECT_EQ(window.available(), 5U);
}

TEST(CreditsTest, SettlingWhatWasNeverGrantedIsRefused) {
  CreditWindow window{10};
  ASSERT_EQ(window.grant("a", 2), 2U);
  const auto settled = window.settle("a", 3);
  ASSERT_FALSE(settled.has_value());
  EXPECT_NE(settled.error().message.find("a settles 3 but holds 2"), std::string::npos);
  EXPECT_FALSE(window.settle("b", 1).has_value());
  EXPECT_EQ(window.outstanding(), 2U);
}

TEST(CreditsTest, GrantsOfALostSenderReturn) {
  CreditWindow window{10};
  ASSERT_EQ(window.grant("a", 10), 10U);
  EXPECT_EQ(window.reclaim("a"), 10U);
  EXPECT_EQ(window.reclaim("a"), 0U);
  EXPECT_EQ(window.available(), 10U);
}

TEST(CreditsTest, SmallerLimitWaitsUntilGrantsAreSettled) {
  CreditWindow window{10};
  ASSERT_EQ(window.grant("a", 8), 8U);
  window.resize(4);
  EXPECT_EQ(window.grant("a", 1), 0U);
  ASSERT_TRUE(window.settle("a", 5).has_value());
  EXPECT_EQ(window.available(), 1U);
}

/// Two senders, one receiver, random order, senders that die with messages under way: what waits
/// at the receiver never exceeds the limit, and no credit is made or lost.
RC_GTEST_PROP(CreditsProperty, WaitingMessagesNeverExceedTheLimit, ()) {
  const auto limit = *rc::gen::inRange<uint64_t>(0, 20);
  using Move = std::pair<int, uint64_t>;
  const auto moves = *rc::gen::container<std::vector<Move>>(
      rc::gen::pair(rc::gen::inRange(0, 8), rc::gen::inRange<uint64_t>(0, 8)));
  CreditWindow window{limit};
  std::array<CreditPurse, 2> purses;
  std::array<uint64_t, 2> mailbox{};
  for (const auto& [kind, amount] : moves) {
    const size_t who = static_cast<size_t>(kind) % 2;
    const std::string name = who == 0 ? "a" : "b";
    if (kind < 2) purses[who].receive(window.grant(name, amount));
    if ((kind == 2 || kind == 3) && purses[who].spend(amount)) mailbox[who] += amount;
    if (kind == 4 || kind == 5) {
      const uint64_t handled = std::min(amount, mailbox[who]);
      RC_ASSERT(window.settle(name, handled).has_value());
      mailbox[who] -= handled;
    }
    if (kind == 6 || kind == 7) {  // the receiver forgets the dead sender's messages too
      purses[who].forget();
      mailbox[who] = 0;
      (void)window.reclaim(name);
    }
    RC_ASSERT(mailbox[0] + mailbox[1] <= limit);
    RC_ASSERT(window.outstanding() <= limit);
    RC_ASSERT(window.outstanding_of("a") == purses[0].available() + mailbox[0]);
    RC_ASSERT(window.outstanding_of("b") == purses[1].available() + mailbox[1]);
  }
}

}  // namespace
}  // namespace warpsmith::actors
