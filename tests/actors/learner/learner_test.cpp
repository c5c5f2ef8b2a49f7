// SPDX-License-Identifier: Apache-2.0
// The learner with its real trainer, a stand-in ledger and a stand-in weight store.
#include "actors/learner/learner.hpp"

#include "actors/learner/learner_settings.hpp"
#include "tests/actors/run/run_fixture.hpp"
#include "tests/actors/stand_ins.hpp"

namespace warpsmith::actors {
namespace {

LocalWeightStoreActor::behavior_type any_store(LocalWeightStoreActor::pointer /*self*/) {
  return {[](atom::status) { return ActorStatus{}; }, [](atom::subscribe, const GeneratorActor&) {},
          [](atom::pull, PolicyVersion, uint32_t) { return WeightShard{}; },
          [](const LocalWeights&) {}, [](atom::pull) { return LocalWeights{}; }};
}

class LearnerTest : public RunFixture {
 protected:
  /// Five tokens of prompt, then five sampled tokens.
  static Segment segment_of(TrajectoryId id) {
    Segment segment{id, 0, {}, {}, {}, {}};
    for (int32_t i = 0; i < 10; ++i) {
      segment.tokens.push_back(i + 20);
      segment.action_mask.push_back(i < 5 ? 0 : 1);
      segment.log_probs.push_back(i < 5 ? 0.0F : -2.0F);
      segment.versions.push_back(i < 5 ? PolicyVersion{} : PolicyVersion{1, 0});
    }
    return segment;
  }
};

TEST_F(LearnerTest, CheckpointRequestedWithinAStepFinishesThatStep) {
  // Four updates in a step: the learner makes the first, then no further trajectory comes.
  const RunConfig c = config({"learner.step.minibatches=4", "learner.step.epochs=1"});
  auto session = begin_run(c, "test", "{}");
  ASSERT_TRUE(session.has_value()) << session.error().message;
  RunTestConfig cfg;
  caf::actor_system system{cfg};
  caf::scoped_actor self{system};
  const LedgerActor ledger = system.spawn(stand_in::ledger);
  const LocalWeightStoreActor store = system.spawn(any_store);
  const auto inputs = inputs_of(c, *session);
  const LearnerActor actor = system.spawn<caf::detached>(
      learner, Identity{"learner-0", tap.get()},
      learner_settings(c, {inputs->model, inputs->weights, inputs->origin}, inputs->checkpoints),
      ledger, store);
  for (TrajectoryId id = 1; id <= 2; ++id) {
    self->send(actor, segment_of(id));
    self->send(actor, Closed{id, {.reward = 1, .verdict = VerdictClass::passed, .turns = 1}});
  }
  uint64_t waiting = 1;
  const auto deadline = Deadline::after(std::chrono::seconds{20});
  while (waiting != 0 && !deadline.passed()) {
    self->request(actor, std::chrono::seconds{10}, atom::status_v)
        .receive([&](const ActorStatus& status) { waiting = status.queued; },
                 [&](const caf::error& error) { FAIL() << system.render(error); });
  }
  self->request(actor, std::chrono::seconds{10}, atom::checkpoint_v)
      .receive([](const std::string& made) { EXPECT_TRUE(made.ends_with("step-1")) << made; },
               [&](const caf::error& error) { ADD_FAILURE() << system.render(error); });
  for (const auto& one : {caf::actor_cast<caf::actor>(actor), caf::actor_cast<caf::actor>(ledger),
                          caf::actor_cast<caf::actor>(store)}) {
    self->send_exit(one, caf::exit_reason::user_shutdown);
  }
}

}  // namespace
}  // namespace warpsmith::actors
