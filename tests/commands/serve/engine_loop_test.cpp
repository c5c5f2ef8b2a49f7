// SPDX-License-Identifier: Apache-2.0
#include "commands/serve/engine_loop.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "policy/generate/cpu/cpu_engine.hpp"
#include "tests/support/small_models.hpp"
#include "tests/support/temporary_folder.hpp"

namespace warpsmith::commands {
namespace {

using policy::EngineRequest;
using std::chrono::seconds;
using testing::HasSubstr;

constexpr int64_t sessions = 2;

/// An engine of two slots and 512 tokens a sequence.
class EngineLoopTest : public testing::Test {
 protected:
  static Result<std::unique_ptr<EngineLoop>> start(int64_t queue, SharedGpu shared = {}) {
    const EngineMaker make = []() -> Result<std::unique_ptr<policy::Engine>> {
      const auto model = policy::test::small_model(policy::Family::llama);
      auto engine = policy::make_cpu_engine(
          model.config(),
          {.max_sessions = sessions, .max_session_tokens = 512, .cache_tokens = 2048});
      if (engine) (*engine)->load({}, model.weights());
      return engine;
    };
    return EngineLoop::start(make, {.sessions = sessions, .queue = queue}, std::move(shared));
  }
  static SharedGpu shared_in(const test_support::TemporaryFolder& leases) {
    return {.device = "gpu", .folder = leases.path().string()};
  }
  static Result<DeviceLease> lease_in(const test_support::TemporaryFolder& leases) {
    return DeviceLease::acquire(leases.path().string(), "gpu", Deadline::after(seconds{120}));
  }
  static EngineRequest request(int32_t tokens, uint64_t seed = 1) {
    EngineRequest request{.whole = true, .new_tokens = {1, 2, 3}};
    request.params.max_tokens = tokens;
    request.params.seed = seed;
    return request;
  }
  /// All tokens of a request of one sequence.
  static std::vector<int32_t> read(TokenChannel& channel) {
    std::vector<int32_t> tokens;
    const Deadline deadline = Deadline::after(seconds{120});
    while (!deadline.passed() && !channel.failure()) {
      for (const ChannelToken& one : channel.take(deadline)) {
        tokens.push_back(one.token.token);
        if (one.token.finish != FinishReason::none) return tokens;
      }
    }
    return tokens;
  }
  static bool idle(EngineLoop& loop) { return loop.drained(Deadline::after(seconds{120})); }
};

TEST_F(EngineLoopTest, EverySequenceOfARequestGetsItsTokens) {
  const auto loop = start(8).value();
  const auto channel = loop->submit({request(5, 1), request(7, 2), request(9, 3)}).value();
  std::vector<size_t> counts(3);
  const Deadline deadline = Deadline::after(seconds{120});
  for (int ended = 0; ended < 3 && !deadline.passed();) {
    for (const ChannelToken& one : channel->take(deadline)) {
      ++counts.at(one.sequence);
      ended += one.token.finish == FinishReason::none ? 0 : 1;
    }
  }
  EXPECT_EQ(counts, (std::vector<size_t>{5, 7, 9}));
}

TEST_F(EngineLoopTest, NeighboursDoNotChangeASeededSequence) {
  const auto loop = start(8).value();
  const auto alone = read(*loop->submit({request(40, 9)}).value());
  ASSERT_EQ(alone.size(), 40);
  const auto before = loop->submit({request(60, 1)}).value();
  const auto among = loop->submit({request(40, 9)}).value();
  const auto after = loop->submit({request(60, 2)}).value();
  EXPECT_EQ(read(*among), alone);
  EXPECT_NE(read(*before), read(*after));
}

TEST_F(EngineLoopTest, AFullQueueRefuses) {
  const test_support::TemporaryFolder leases;
  const auto loop = start(1, shared_in(leases)).value();
  auto measuring = std::make_optional(lease_in(leases).value());  // no sequence ends meanwhile
  const auto held = loop->submit({request(500), request(500), request(500)});
  ASSERT_TRUE(held) << held.error().message;
  const auto refused = loop->submit({request(1)});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::capacity);
  measuring.reset();
  (*held)->cancel_all();
  EXPECT_TRUE(idle(*loop));
  EXPECT_TRUE(loop->submit({request(1)}));
}

TEST_F(EngineLoopTest, ACancelledSequenceFreesItsSlot) {
  const auto loop = start(8).value();
  const auto channel = loop->submit({request(500, 1), request(500, 2)}).value();
  const auto waiting = loop->submit({request(3)}).value();
  channel->cancel(1);
  EXPECT_EQ(read(*waiting).size(), 3);
  channel->cancel_all();
  EXPECT_TRUE(idle(*loop));
}

TEST_F(EngineLoopTest, ACancelledSequenceFreesItsPlaceInTheQueueAtOnce) {
  const test_support::TemporaryFolder leases;
  const auto loop = start(1, shared_in(leases)).value();
  const auto measuring = lease_in(leases).value();  // no sequence ends meanwhile
  const auto held = loop->submit({request(500), request(500), request(500)}).value();
  held->cancel(2);
  EXPECT_TRUE(loop->submit({request(1)}));
  EXPECT_FALSE(loop->submit({request(1)}));
}

TEST_F(EngineLoopTest, ARefusalByTheEngineFailsOnlyItsRequest) {
  const auto loop = start(8).value();
  EngineRequest wrong = request(3);
  wrong.new_tokens = {1'000'000};
  const auto channel = loop->submit({wrong}).value();
  EXPECT_TRUE(channel->take(Deadline::after(seconds{120})).empty());
  EXPECT_THAT(channel->failure().value().message, HasSubstr("outside the vocabulary"));
  EXPECT_EQ(read(*loop->submit({request(3)}).value()).size(), 3);
}

TEST_F(EngineLoopTest, StoppingFailsRunningAndWaitingRequests) {
  const test_support::TemporaryFolder leases;
  const auto loop = start(8, shared_in(leases)).value();
  const auto measuring = lease_in(leases).value();  // no sequence ends meanwhile
  const auto channel = loop->submit({request(500), request(500), request(500)}).value();
  loop->close();
  EXPECT_FALSE(loop->submit({request(1)}));
  EXPECT_FALSE(loop->drained(Deadline::after(seconds{0})));
  loop->stop();
  EXPECT_TRUE(channel->failure());
  EXPECT_EQ(loop->status().failure, "") << "stopping is no failure";
}

TEST_F(EngineLoopTest, StepsWaitForTheEndOfAMeasurementAndGiveWayToTheNext) {
  const test_support::TemporaryFolder leases;
  const auto lease = [&] { return lease_in(leases); };
  const auto loop = start(8, shared_in(leases)).value();
  auto measuring = std::make_optional(lease().value());
  const auto channel = loop->submit({request(400)}).value();
  EXPECT_TRUE(channel->take(Deadline::after(std::chrono::milliseconds{100})).empty());
  EXPECT_FALSE(channel->failure());
  EXPECT_FALSE(loop->status().stuck) << "it waits";
  measuring.reset();
  const auto first = channel->take(Deadline::after(seconds{120}));
  ASSERT_FALSE(first.empty());
  EXPECT_TRUE(lease()) << "between two steps";
  const bool ended = first.back().token.finish != FinishReason::none;  // the engine was fast
  EXPECT_TRUE(ended || !read(*channel).empty()) << "and continues afterwards";
  EXPECT_TRUE(idle(*loop));
  EXPECT_TRUE(lease()) << "an idle loop keeps no measurement out";
}

TEST_F(EngineLoopTest, AMissingGpuIsNamedAndRefused) {
  const auto loop = start(8, {.gpu = 4096});
  ASSERT_FALSE(loop);
  EXPECT_EQ(loop.error().code, ErrorCode::unsupported);
  EXPECT_THAT(loop.error().message, testing::StartsWith("engine on a GPU: "));
}

TEST_F(EngineLoopTest, AnEngineThatCannotBeMadeIsAnError) {
  const auto loop = EngineLoop::start(
      []() -> Result<std::unique_ptr<policy::Engine>> { throw std::runtime_error("no device"); },
      {});
  ASSERT_FALSE(loop);
  EXPECT_EQ(loop.error().message, "no device");
}

/// A backend whose device breaks at the first batch.
class BrokenBackend final : public policy::Backend {
 public:
  int64_t vocab() const override { return 61; }
  bool runs_ahead() const override { return false; }
  void adopt(const policy::ModelWeights& /*weights*/) override {}
  void start(std::span<const policy::DecodeRow> /*rows*/) override {
    throw std::runtime_error("the device is lost");
  }
  std::vector<policy::SampledToken> finish() override { return {}; }
};

TEST_F(EngineLoopTest, ABrokenDeviceFailsAllRequests) {
  const auto loop = EngineLoop::start(
                        []() {
                          auto engine = policy::Engine::make(std::make_unique<BrokenBackend>(), {});
                          (*engine)->load({}, policy::ModelWeights{});
                          return engine;
                        },
                        {})
                        .value();
  const auto channel = loop->submit({request(3)}).value();
  EXPECT_TRUE(channel->take(Deadline::after(seconds{120})).empty());
  EXPECT_THAT(channel->failure().value().message, HasSubstr("the device is lost"));
  EXPECT_FALSE(loop->submit({request(3)}));
  EXPECT_THAT(loop->status().failure, HasSubstr("the device is lost"));
}

/// A backend that breaks while the engine looks at the tokens of its second sequence.
class BreakingBackend final : public policy::Backend {
 public:
  int64_t vocab() const override {
    if (++asked_ > 3) throw std::runtime_error("the device is lost");
    return 61;
  }
  bool runs_ahead() const override { return false; }
  void adopt(const policy::ModelWeights& /*weights*/) override {}
  void start(std::span<const policy::DecodeRow> /*rows*/) override {}
  std::vector<policy::SampledToken> finish() override { return {}; }

 private:
  mutable int asked_ = 0;
};

/// One sequence runs, one is taken from the queue, and two wait there.
TEST_F(EngineLoopTest, AnEngineThatThrowsInSubmitFailsEverySequenceAndEndsTheLoop) {
  const auto make = [] {
    return policy::Engine::make(std::make_unique<BreakingBackend>(), {.max_sessions = sessions});
  };
  const auto loop = EngineLoop::start(make, {.sessions = sessions}).value();
  const auto runs = loop->submit({request(3)}).value();
  const auto throws = loop->submit({request(3), request(3), request(3)}).value();
  for (const auto& channel : {runs, throws}) {
    EXPECT_TRUE(channel->take(Deadline::after(seconds{120})).empty());
    ASSERT_TRUE(channel->failure());
    EXPECT_EQ(channel->failure()->code, ErrorCode::infrastructure);
    EXPECT_EQ(channel->failure()->message, "the engine failed: the device is lost");
  }
  const auto refused = loop->submit({request(3)});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message, "the engine failed: the device is lost");
  EXPECT_EQ(loop->status().running, 0);
  EXPECT_EQ(loop->status().waiting, 0);
}

}  // namespace
}  // namespace warpsmith::commands
