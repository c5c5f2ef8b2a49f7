// SPDX-License-Identifier: Apache-2.0
// The end of a run waits for its actors, but not for one that hangs.
#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <thread>

#include "actors/run/run_tree.hpp"
#include "tests/actors/run/run_fixture.hpp"

namespace warpsmith::actors {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

/// Holds the supervisor in a handler once the run is up, until `release`, at most 120 s.
class HoldingTap : public Tap {
 public:
  struct Signs {
    std::atomic<bool> up{false};
    std::promise<void> holds, release, back;
  };
  explicit HoldingTap(std::shared_ptr<Signs> signs) : signs_(std::move(signs)) {}
  void delivered(const Delivery& d) override {
    if (d.actor != "supervisor" || d.handler != "counted" || !signs_->up) return;
    if (std::exchange(held_, true)) return;
    signs_->holds.set_value();
    (void)signs_->release.get_future().wait_for(seconds{120});
    signs_->back.set_value();
  }

 private:
  std::shared_ptr<Signs> signs_;
  bool held_ = false;  // the supervisor's thread only
};

class RunEndTest : public RunFixture {
 protected:
  /// The time that the end of a run takes, after `begun` has returned.
  milliseconds end_of(const RunConfig& c, std::unique_ptr<Tap> its_tap,
                      const std::function<void(RunTree&)>& begun) {
    auto session = begin_run(c, "test", "{}");
    if (!session) throw std::runtime_error(session.error().message);
    auto tree = std::make_unique<RunTree>(inputs_of(c, *session), std::move(its_tap));
    begun(*tree);
    const auto begin = SteadyClock::now();
    tree.reset();
    return std::chrono::duration_cast<milliseconds>(SteadyClock::now() - begin);
  }
};

TEST_F(RunEndTest, TheRunEndsWithItsLastActor) {
  const RunConfig c = config({"supervisor.stop_timeout=60000"});
  const auto took = end_of(c, make_silent_tap(), [](RunTree& tree) {
    EXPECT_TRUE(tree.counts(seconds{120}).has_value());
  });
  EXPECT_LT(took, c.supervisor.stop_timeout);
}

TEST_F(RunEndTest, NumbersComeFromTheSuccessorOfADeadTelemetry) {
  const RunConfig c = config({"supervisor.stop_timeout=60000"});
  end_of(c, std::make_unique<FaultTap>(Fault{"telemetry-0", "observe", 3}), [](RunTree& tree) {
    const auto restarts = [&tree] {
      const auto status = tree.status(seconds{120});
      return status ? status->gauges.at("restarts") : 0;
    };
    const auto deadline = Deadline::after(seconds{120});
    while (restarts() == 0 && !deadline.passed()) std::this_thread::yield();
    bool answers = false;
    while (!answers && !deadline.passed()) {
      const auto numbers = tree.numbers(seconds{120});
      answers = numbers && !numbers->values.empty();
    }
    EXPECT_TRUE(answers);
  });
}

TEST_F(RunEndTest, TheEndAbandonsAHangingActor) {
  const auto signs = std::make_shared<HoldingTap::Signs>();
  auto back = signs->back.get_future();
  const RunConfig c = config({"supervisor.stop_timeout=200"});
  const auto took = end_of(c, std::make_unique<HoldingTap>(signs), [&](RunTree& /*tree*/) {
    signs->up = true;
    EXPECT_EQ(signs->holds.get_future().wait_for(seconds{120}), std::future_status::ready);
  });
  EXPECT_GE(took, c.supervisor.stop_timeout);
  EXPECT_EQ(back.wait_for(seconds{0}), std::future_status::timeout);
  signs->release.set_value();
  EXPECT_EQ(back.wait_for(seconds{120}), std::future_status::ready);
}

}  // namespace
}  // namespace warpsmith::actors
