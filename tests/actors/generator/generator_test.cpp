// SPDX-License-Identifier: Apache-2.0
// The generator with its real engine and weight store, and beside a full one in the whole tree.
#include "actors/generator/generator.hpp"

#include "actors/generator/generator_settings.hpp"
#include "actors/weights/weight_store.hpp"
#include "tests/actors/run/run_fixture.hpp"

namespace warpsmith::actors {
namespace {

using std::chrono::seconds;

class GeneratorTest : public RunFixture {
 protected:
  GeneratorTest() {
    const RunConfig c = config();
    auto inputs = load_inputs(c, c.model.folder);
    if (!inputs) throw std::runtime_error(inputs.error().message);
    const auto weights = std::make_shared<const policy::ModelWeights>(inputs->weights.clone());
    store_ = system_.spawn(weight_store, Identity{"weight_store-0", tap.get()}, 1U << 20U);
    self_->send(store_, LocalWeights{{1, 4}, weights});
    generator_ = system_.spawn<caf::detached>(generator, Identity{"generator-0", tap.get()},
                                              generator_settings(c, inputs->model, {}), store_);
  }
  ~GeneratorTest() override {
    self_->send_exit(generator_, caf::exit_reason::user_shutdown);
    self_->send_exit(store_, caf::exit_reason::user_shutdown);
  }

  template <class Handle>
  ActorStatus status_of(const Handle& actor) {
    ActorStatus out;
    self_->request(actor, seconds{20}, atom::status_v)
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
    GenerateCall call{session, 1, true, std::vector<int32_t>(64, 5), 1};
    self_->request(generator_, seconds{20}, call)
        .receive([](bool) {},
                 [&](const caf::error& error) { ADD_FAILURE() << system_.render(error); });
    self_->receive([](const TokenChunk& chunk) { EXPECT_EQ(chunk.tokens.size(), 1U); },
                   caf::after(seconds{20}) >> [] { ADD_FAILURE() << "no token"; });
  }

  RunTestConfig system_config_;
  caf::actor_system system_{system_config_};
  caf::scoped_actor self_{system_};
  LocalWeightStoreActor store_;
  GeneratorActor generator_;
};

TEST_F(GeneratorTest, RepeatedNoticesOfAVersionKeepItsPrefixes) {
  settle();
  sample(1);
  for (int i = 0; i < 2; ++i) self_->send(generator_, WeightsReady{{1, 4}});
  settle();
  sample(2);
  const ActorStatus status = status_of(generator_);
  EXPECT_EQ(status.gauges.at("step"), 4);
  EXPECT_EQ(status.gauges.at("reused_tokens"), 48);
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

TEST_F(FullGeneratorTest, TrajectoriesMoveToOneThatHasRoom) {
  EXPECT_EQ(run_whole(config({"generator.count=4"})), "done");
  EXPECT_EQ(summary().admitted, 24U);
  EXPECT_FALSE(summary().dropped.contains("infrastructure"));
}

}  // namespace
}  // namespace warpsmith::actors
