// SPDX-License-Identifier: Apache-2.0
// The learner with its real trainer, a stand-in ledger and a stand-in weight store.
#include "actors/learner/learner.hpp"

#include <limits>

#include "tests/actors/run/run_fixture.hpp"
#include "tests/actors/stand_ins.hpp"

namespace warpsmith::actors {
namespace {

LocalWeightStoreActor::behavior_type any_store(LocalWeightStoreActor::pointer /*self*/) {
  return {[](atom::status) { return ActorStatus{}; }, [](atom::subscribe, const GeneratorActor&) {},
          [](atom::pull, PolicyVersion, uint32_t) { return WeightShard{}; },
          [](const LocalWeights&) {}, [](atom::pull) { return LocalWeights{}; }};
}

/// Five tokens of prompt, then five sampled tokens.
Segment segment_of(TrajectoryId id) {
  Segment segment{id, 0, {}, {}, {}, {}};
  for (int32_t i = 0; i < 10; ++i) {
    segment.tokens.push_back(i + 20);
    segment.action_mask.push_back(i < 5 ? 0 : 1);
    segment.log_probs.push_back(i < 5 ? 0.0F : -2.0F);
    segment.versions.push_back(i < 5 ? PolicyVersion{} : PolicyVersion{1, 0});
  }
  return segment;
}

class LearnerTest : public RunFixture {
 protected:
  ~LearnerTest() override {
    for (const caf::actor& one : started_) self_->send_exit(one, caf::exit_reason::user_shutdown);
  }

  LearnerActor start(const std::vector<std::string>& settings, SharedGpu shared = {}) {
    const RunConfig c = config(settings);
    session_.emplace(begin_run(c, "test", "{}").value());
    const auto inputs = inputs_of(c, *session_);
    LearnerSettings learns =
        learner_settings(c, {inputs->model, inputs->weights, inputs->origin}, inputs->checkpoints);
    learns.shared = {std::move(shared)};
    const LedgerActor ledger = system_.spawn(stand_in::ledger);
    const LocalWeightStoreActor store = system_.spawn(any_store);
    LearnerActor actor = system_.spawn<caf::detached>(learner, Identity{"learner-0", tap.get()},
                                                      std::move(learns), ledger, store);
    started_ = {caf::actor_cast<caf::actor>(actor), caf::actor_cast<caf::actor>(ledger),
                caf::actor_cast<caf::actor>(store)};
    return actor;
  }

  uint64_t waiting_in(const LearnerActor& actor) {
    uint64_t waiting = 0;
    self_->request(actor, seconds{120}, atom::status_v)
        .receive([&](const ActorStatus& status) { waiting = status.queued; },
                 [&](const caf::error& error) { ADD_FAILURE() << system_.render(error); });
    return waiting;
  }

  void play(const LearnerActor& actor, TrajectoryId id) {
    self_->send(actor, segment_of(id));
    self_->send(actor, Closed{id, {.reward = 1, .verdict = VerdictClass::passed, .turns = 1}});
  }

  using seconds = std::chrono::seconds;
  ActorSystemConfig system_config_{2};
  caf::actor_system system_{system_config_};
  caf::scoped_actor self_{system_};
  std::optional<RunSession> session_;
  std::vector<caf::actor> started_;
};

TEST_F(LearnerTest, CheckpointRequestedWithinAStepFinishesThatStep) {
  // Four updates in a step: the learner makes the first, then no further trajectory comes.
  const LearnerActor actor = start({"learner.step.minibatches=4", "learner.step.epochs=1"});
  play(actor, 1);
  play(actor, 2);
  const auto deadline = Deadline::after(seconds{120});
  while (waiting_in(actor) != 0 && !deadline.passed()) {
  }
  self_->request(actor, seconds{120}, atom::checkpoint_v)
      .receive([](const std::string& made) { EXPECT_TRUE(made.ends_with("step-1")) << made; },
               [&](const caf::error& error) { ADD_FAILURE() << system_.render(error); });
}

TEST_F(LearnerTest, SegmentsThatAreAllRefusedEndIt) {
  const LearnerActor actor = start({"learner.max_skipped=2"});
  for (const TrajectoryId id : {TrajectoryId{1}, TrajectoryId{2}}) {
    Segment segment = segment_of(id);
    segment.log_probs.back() = std::numeric_limits<float>::quiet_NaN();
    self_->send(actor, segment);
  }
  self_->request(actor, seconds{120}, atom::status_v)
      .receive([](const ActorStatus&) { ADD_FAILURE() << "did not end"; },
               [](const caf::error&) {});
}

TEST_F(LearnerTest, WorkWaitsForTheEndOfAMeasurement) {
  const test_support::TemporaryFolder leases;
  const LearnerActor actor =
      start({"learner.forwards=\"streamed\""}, {.device = "gpu", .folder = leases.path().string()});
  EXPECT_EQ(waiting_in(actor), 0U);
  std::optional<DeviceLease> measuring =
      DeviceLease::acquire(leases.path().string(), "gpu", Deadline::after(seconds{120})).value();
  self_->send(actor, segment_of(1));
  self_->request(actor, std::chrono::milliseconds{100}, atom::status_v)
      .receive([](const ActorStatus&) { ADD_FAILURE() << "computed during a measurement"; },
               [](const caf::error&) {});
  measuring.reset();
  EXPECT_EQ(waiting_in(actor), 0U) << "and continues afterwards";
}

}  // namespace
}  // namespace warpsmith::actors
