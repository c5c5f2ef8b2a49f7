// SPDX-License-Identifier: Apache-2.0
// The generator with its real engine and weight store, and next to a full one in the whole tree.
#include "actors/generator/generator.hpp"

#include "actors/weights/weight_store.hpp"
#include "tests/actors/run/run_fixture.hpp"

namespace warpsmith::actors {
namespace {

using std::chrono::seconds;

class GeneratorTest : public RunFixture {
 protected:
  GeneratorTest() {
    auto inputs = load_inputs(config_, config_.model.folder);
    if (!inputs) throw std::runtime_error(inputs.error().message);
    const auto weights = std::make_shared<const policy::ModelWeights>(inputs->weights.clone());
    store_ = system_.spawn(weight_store, Identity{"weight_store-0", tap.get()}, 1U << 20U);
    self_->send(store_, LocalWeights{{1, 4}, weights});
    settings_ = generator_settings(config_, inputs->model, {});
  }
  ~GeneratorTest() override {
    self_->send_exit(generator_, caf::exit_reason::user_shutdown);
    self_->send_exit(store_, caf::exit_reason::user_shutdown);
  }

  void start() {
    generator_ = system_.spawn<caf::detached>(generator, Identity{"generator-0", tap.get()},
                                              settings_, store_);
  }
  template <class Handle>
  ActorStatus status_of(const Handle& actor) {
    ActorStatus out;
    self_->request(actor, seconds{120}, atom::status_v)
        .receive([&](const ActorStatus& status) { out = status; },
                 [&](const caf::error& error) { ADD_FAILURE() << system_.render(error); });
    return out;
  }
  /// Returns once the generator has handled its messages, and the answers to its pulls.
  void settle() {
    status_of(generator_);
    status_of(store_);
    status_of(generator_);
  }
  /// Samples one token after a prompt of 64 tokens.
  void sample(TrajectoryId session) {
    ask({session, 1, true, std::vector<int32_t>(64, 5), 1});
    expect_chunk();
  }
  void ask(const GenerateCall& call) {
    self_->request(generator_, seconds{120}, call)
        .receive([](bool) {},
                 [&](const caf::error& error) { ADD_FAILURE() << system_.render(error); });
  }
  void expect_chunk() {
    self_->receive([](const TokenChunk& chunk) { EXPECT_EQ(chunk.tokens.size(), 1U); },
                   caf::after(seconds{120}) >> [] { ADD_FAILURE() << "no token"; });
  }

  const RunConfig config_ = config();
  GeneratorSettings settings_;
  ActorSystemConfig system_config_{2};
  caf::actor_system system_{system_config_};
  caf::scoped_actor self_{system_};
  LocalWeightStoreActor store_;
  GeneratorActor generator_;
};

TEST_F(GeneratorTest, RepeatedNoticesOfAVersionKeepItsPrefixes) {
  start();
  const auto notify_twice = [this] {
    for (int i = 0; i < 2; ++i) self_->send(generator_, WeightsReady{{1, 4}});
  };
  notify_twice();  // before the version is published
  sample(1);
  notify_twice();
  settle();
  sample(2);
  const ActorStatus status = status_of(generator_);
  EXPECT_EQ(status.gauges.at("step"), 4);
  EXPECT_EQ(status.gauges.at("reused_tokens"), 48);
}

class SharedGeneratorTest : public GeneratorTest {
 protected:
  SharedGeneratorTest() {
    settings_.lease_folder = leases_.path().string();
    settings_.shared_device = "gpu";
  }
  DeviceLease lease() const {
    return DeviceLease::acquire(settings_.lease_folder, "gpu", Deadline::after(seconds{120}))
        .value();
  }

 private:
  test_support::TemporaryFolder leases_;
};

TEST_F(SharedGeneratorTest, AnIdleGeneratorDoesNotBlockMeasurements) {
  start();
  sample(1);
  settle();
  (void)lease();
}

TEST_F(SharedGeneratorTest, WeightsAndStepsWaitForTheEndOfAMeasurement) {
  std::optional<DeviceLease> measuring = lease();
  start();
  settle();
  EXPECT_EQ(status_of(generator_).phase, "waiting for weights") << "and it still answers";
  ask({1, 1, true, std::vector<int32_t>(64, 5), 1});
  self_->receive([](const TokenChunk&) { ADD_FAILURE() << "computed during a measurement"; },
                 caf::after(std::chrono::milliseconds{100}) >> [] {});
  measuring.reset();
  expect_chunk();
}

TEST_F(SharedGeneratorTest, AMeasurementGetsTheDeviceBetweenTwoSteps) {
  start();
  sample(1);  // so that it has weights, however busy the cores are
  ask({2, 1, true, std::vector<int32_t>(64, 5), 400});
  std::optional<DeviceLease> measuring = lease();
  measuring.reset();
  self_->receive([](const TokenChunk& chunk) { EXPECT_FALSE(chunk.tokens.empty()); },
                 caf::after(seconds{120}) >> [] { ADD_FAILURE() << "no token"; });
}

/// A generator that never has room.
GeneratorActor::behavior_type full_generator(GeneratorActor::pointer /*self*/) {
  return {[](atom::status) { return ActorStatus{}; }, [](const WeightsReady&) {},
          [](atom::release, TrajectoryId) {},
          [](const GenerateCall&) -> caf::result<bool> {
            return to_caf({ErrorCode::capacity, "scripted"});
          }};
}

class FullGeneratorTest : public RunFixture {
 protected:
  Spawners spawners_of(const std::shared_ptr<const RunInputs>& inputs) override {
    Spawners spawners = RunFixture::spawners_of(inputs);
    spawners.generator = [spawn = spawners.generator, n = 0](
                             caf::actor_system& system, Identity id,
                             const WeightStoreActor& store) mutable -> GeneratorActor {
      if (n++ % 2 == 0) return system.spawn(full_generator);
      return spawn(system, std::move(id), store);
    };
    return spawners;
  }
};

TEST_F(FullGeneratorTest, TrajectoriesMoveToAGeneratorWithRoom) {
  EXPECT_EQ(run_whole(config({"generator.count=4"})), "done");
  EXPECT_EQ(summary().admitted, 24U);
  EXPECT_FALSE(summary().dropped.contains("infrastructure"));
}

}  // namespace
}  // namespace warpsmith::actors
