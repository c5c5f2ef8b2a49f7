// SPDX-License-Identifier: Apache-2.0
#include "sandbox/failure/time_limits.hpp"

#include <gtest/gtest.h>

#include <thread>

namespace warpsmith::sandbox {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;

const Deadline later = Deadline::after(hours{1});

TEST(PatienceTest, BlamesTheDeadlineWhereNothingElseLimitsTheWait) {
  EXPECT_EQ(Patience(later).blame, Blame::deadline);
}

TEST(PatienceTest, BlamesTheCandidateOnlyForItsFullTime) {
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

TEST(PatienceTest, BlamesOnlyForTimeOuts) {
  const Patience patience{Blame::task, milliseconds{5}, later};
  EXPECT_EQ(patience.failure_of({ErrorCode::timeout, "slow"}).blame, Blame::task);
  EXPECT_EQ(patience.failure_of({ErrorCode::io_failed, "full"}).blame, Blame::machine);
}

TEST(CandidateTimeTest, CausedATimeoutIfItUsedMostOfTheTime) {
  CandidateTime own(Deadline::after(milliseconds{0}), milliseconds{0});
  EXPECT_FALSE(own.caused_timeout());
  own.add(milliseconds{1});
  EXPECT_TRUE(own.caused_timeout());
}

TEST(CandidateTimeTest, CausedNoTimeoutBeforeTheDeadlineOrByOthers) {
  CandidateTime plenty(Deadline::after(std::chrono::hours{1}), milliseconds{0});
  plenty.add(std::chrono::minutes{59});
  EXPECT_FALSE(plenty.caused_timeout());
  CandidateTime little(Deadline::after(milliseconds{20}), milliseconds{0});
  little.add(milliseconds{5});
  std::this_thread::sleep_for(milliseconds{25});
  EXPECT_FALSE(little.caused_timeout());
  little.add(milliseconds{6});
  EXPECT_TRUE(little.caused_timeout());
}

TEST(CandidateTimeTest, CausedNoTimeoutWithinTheLeastTime) {
  CandidateTime own(Deadline::after(milliseconds{0}), milliseconds{5});
  own.add(milliseconds{5});
  EXPECT_FALSE(own.caused_timeout());
  own.add(milliseconds{1});
  EXPECT_TRUE(own.caused_timeout());
}

}  // namespace
}  // namespace warpsmith::sandbox
