// SPDX-License-Identifier: Apache-2.0
// One actor of the whole tree hangs: it is replaced, or the run stops and says why.
#include "tests/actors/run/run_fixture.hpp"

namespace warpsmith::actors {
namespace {

/// The place where an actor hangs.
struct Place {
  std::string actor;
  std::string handler;
};

/// Holds the actor in its handler until another delivery shows that the supervisor has acted, at
/// most 180 s.
class HangTap : public Tap {
 public:
  HangTap(Place hangs, Place acted) : hangs_(std::move(hangs)), acted_(std::move(acted)) {}
  void delivered(const Delivery& d) override {
    std::unique_lock lock{mutex_};
    if (d.actor == acted_.actor && d.handler == acted_.handler && held_) {
      acted_on_ = true;
      changed_.notify_all();
    }
    if (d.actor != hangs_.actor || d.handler != hangs_.handler || held_) return;
    held_ = true;
    changed_.wait_for(lock, std::chrono::seconds{180}, [this] { return acted_on_; });
  }

 private:
  Place hangs_, acted_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool held_ = false, acted_on_ = false;
};

class StuckTest : public RunFixture, public ::testing::WithParamInterface<Place> {
 protected:
  std::string run_with(const Place& acted) {
    tap = std::make_unique<HangTap>(GetParam(), acted);
    return run_whole(config({"supervisor.status_bound=1000", "supervisor.stuck_timeout=10000"}));
  }
};

class ReplacedTest : public StuckTest {};

TEST_P(ReplacedTest, RunEndsAndNothingIsLost) {
  EXPECT_EQ(run_with({"supervisor", "respawn"}), "done");
  EXPECT_EQ(gauges["restarts"], 1);
  const RunSummary after = summary();
  EXPECT_EQ(after.admitted, 24U);
  EXPECT_EQ(after.in_flight, 0U);
  EXPECT_TRUE(after.is_conserved());
}

class GivenUpTest : public StuckTest {};

TEST_P(GivenUpTest, RunStopsAndNamesTheActor) {
  const std::string end = run_with({"ledger-0", "record"});
  EXPECT_EQ(end.find("failed: " + GetParam().actor), 0U) << end;
  EXPECT_NE(end.find("stuck: no answer for 10000 ms (supervisor.stuck_timeout)"), std::string::npos)
      << end;
  EXPECT_TRUE(summary().is_conserved());
}

std::string name_of(const ::testing::TestParamInfo<Place>& info) {
  return info.param.actor.substr(0, info.param.actor.find('-'));
}

INSTANTIATE_TEST_SUITE_P(EachKind, ReplacedTest,
                         ::testing::Values(Place{"generator-0", "step"},
                                           Place{"sandbox-0", "evaluate"}),
                         name_of);

INSTANTIATE_TEST_SUITE_P(EachThatKeepsState, GivenUpTest,
                         ::testing::Values(Place{"learner-0", "step"},
                                           Place{"rollout-0", "tokens"}),
                         name_of);

}  // namespace
}  // namespace warpsmith::actors
