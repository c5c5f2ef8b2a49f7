// SPDX-License-Identifier: Apache-2.0
#include "sandbox/failure/patience.hpp"

#include <gtest/gtest.h>

namespace warpsmith::sandbox {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;

const Deadline later = Deadline::after(hours{1});

TEST(PatienceTest, BlamesTheDeadlineWhereNothingElseLimitsTheWait) {
  EXPECT_EQ(Patience(later).blame, Blame::deadline);
}

TEST(PatienceTest, BlamesAPartyOnlyForItsFullTime) {
  const Patience full{Blame::candidate, milliseconds{5}, later};
  EXPECT_EQ(full.blame, Blame::candidate);
  EXPECT_LT(full.by.at(), later.at());
  const Patience cut{Blame::candidate, hours{2}, later};
  EXPECT_EQ(cut.blame, Blame::deadline);
  EXPECT_EQ(cut.by.at(), later.at());
}

TEST(PatienceTest, BlamesTheNarrowestOfNestedLimits) {
  const Patience task{Blame::task, milliseconds{500}, later};
  EXPECT_EQ((Patience{Blame::machine, milliseconds{1}, task}.blame), Blame::machine);
  EXPECT_EQ((Patience{Blame::machine, hours{2}, task}.blame), Blame::task);
}

TEST(PatienceTest, BlamesForTimeOutsAlone) {
  const Patience patience{Blame::task, milliseconds{5}, later};
  EXPECT_EQ(patience.failure_of({ErrorCode::timeout, "slow"}).blame, Blame::task);
  EXPECT_EQ(patience.failure_of({ErrorCode::io_failed, "full"}).blame, Blame::machine);
}

}  // namespace
}  // namespace warpsmith::sandbox
