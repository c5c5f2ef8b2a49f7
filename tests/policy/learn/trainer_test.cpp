// SPDX-License-Identifier: Apache-2.0
// The trainer end to end on a tiny world: rewards rise, and segments, lag and memory are handled as
// documented.
#include "policy/learn/trainer.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "runtime/policy_version.hpp"
#include "tests/policy/learn/tiny_world.hpp"

namespace warpsmith::policy {
namespace {

TrainerSetup tiny_setup() {
  TrainerSetup setup;
  setup.seed = 3;
  setup.learner.step.trajectories = 32;
  setup.learner.step.epochs = 2;
  setup.learner.optimizer.learning_rate = 3e-3;
  setup.learner.optimizer.critic_learning_rate = 1e-2;
  setup.learner.advantage.lambda = 1.0;
  setup.learner.max_lag = 2;
  return setup;
}

Trainer tiny_trainer(const TrainerSetup& setup) {
  return {setup, tiny_config(), tiny_weights(1)};
}

double mean_of(const std::vector<double>& xs, size_t from, size_t count) {
  double sum = 0;
  for (size_t i = from; i < from + count; ++i) sum += xs[i];
  return sum / static_cast<double>(count);
}

void expect_rise(const std::vector<double>& curve, double rise) {
  const double first = mean_of(curve, 0, 3);
  const double last = mean_of(curve, curve.size() - 3, 3);
  EXPECT_GT(last - first, rise) << "from " << first << " to " << last;
}

TEST(TrainerTest, RewardRisesOnPolicy) {
  Trainer trainer = tiny_trainer(tiny_setup());
  expect_rise(learning_curve(trainer, 20, /*lag=*/0), 0.8);
}

TEST(TrainerTest, RewardRisesWithWeightsTwoVersionsOld) {
  Trainer trainer = tiny_trainer(tiny_setup());
  expect_rise(learning_curve(trainer, 20, /*lag=*/2), 0.8);
}

TEST(TrainerTest, RewardRisesWithSeparateCriticAndForwardsAtUse) {
  TrainerSetup setup = tiny_setup();
  setup.learner.critic.kind = CriticKind::separate;
  setup.learner.forwards = ForwardMode::at_use;
  setup.learner.step.minibatches = 2;
  setup.learner.loss.aggregation = Aggregation::trajectory_mean;
  setup.learner.advantage.running_scale = true;
  Trainer trainer = tiny_trainer(setup);
  expect_rise(learning_curve(trainer, 20, /*lag=*/1), 0.8);
}

TEST(TrainerTest, EveryLossLearns) {
  for (int kind = 0; kind < 6; ++kind) {
    SCOPED_TRACE(kind);
    TrainerSetup setup = tiny_setup();
    setup.learner.loss.kind = static_cast<LossKind>(kind);
    setup.learner.critic.prompt_baseline = true;
    setup.learner.loss.kl = 1e-3;
    setup.learner.loss.entropy = 1e-3;
    setup.learner.loss.positive_nll = 0.01;
    Trainer trainer = tiny_trainer(setup);
    expect_rise(learning_curve(trainer, 9, /*lag=*/1), 0.25);
  }
}

TEST(TrainerTest, SameCallsGiveTheSameWeightsBitForBit) {
  Trainer a = tiny_trainer(tiny_setup());
  Trainer b = tiny_trainer(tiny_setup());
  EXPECT_EQ(learning_curve(a, 3, 1), learning_curve(b, 3, 1));
  EXPECT_EQ(distance(*a.weights().weights, *b.weights().weights), 0.0);
}

TEST(TrainerTest, StreamedAndAtUseForwardsAgreeForEqualWeights) {
  TrainerSetup streamed = tiny_setup();
  streamed.learner.step.trajectories = 4;
  streamed.learner.step.epochs = 1;
  TrainerSetup at_use = streamed;
  at_use.learner.forwards = ForwardMode::at_use;
  Trainer a = tiny_trainer(streamed);
  Trainer b = tiny_trainer(at_use);
  TinyWorld world{5};
  for (const Trajectory& played : world.play(a.weights(), 4)) {
    feed(a, played);
    feed(b, played);
  }
  EXPECT_EQ(a.version().step, 1U);
  // Adam turns rounding differences of tiny gradients into differences as large as the rate.
  EXPECT_LT(distance(*a.weights().weights, *b.weights().weights), 1e-4);
}

/// A report of one step with `minibatches` updates; the weights that sampled are the step's first.
StepReport report_at_use(int64_t minibatches) {
  TrainerSetup setup = tiny_setup();
  setup.learner.forwards = ForwardMode::at_use;
  setup.learner.step = {.trajectories = 8, .minibatches = minibatches};
  setup.learner.optimizer.learning_rate = 0.1;
  Trainer trainer = tiny_trainer(setup);
  Progress progress;
  for (const Trajectory& played : TinyWorld{5}.play(trainer.weights(), 8)) {
    progress = feed(trainer, played);
  }
  if (!progress.step) throw std::runtime_error("no step after 8 trajectories");
  return *progress.step;
}

TEST(TrainerTest, ForwardsAtUseScoreByTheWeightsBeforeTheStepsFirstUpdate) {
  const StepReport report = report_at_use(4);
  EXPECT_EQ(report.updates, 4);
  EXPECT_EQ(report.tokens.fresh_tokens, 32);
  EXPECT_LT(report.tokens.mismatch_max, 1e-5);
  EXPECT_GT(report.tokens.proximal_k3, 0.01)
      << "updates move the policy away from the proximal one";
  EXPECT_GT(report.tokens.clip_fraction, 0.0);
  EXPECT_NEAR(report_at_use(1).tokens.proximal_k3, 0.0, 1e-9);
}

TEST(TrainerTest, ObservingTwiceChangesNothing) {
  TrainerSetup setup = tiny_setup();
  setup.learner.step.trajectories = 1;
  Trainer once = tiny_trainer(setup);
  Trainer twice = tiny_trainer(setup);
  const Trajectory played = TinyWorld{5}.play(once.weights());
  for (const Segment& segment : played.segments) {
    ASSERT_TRUE(twice.observe(segment));
    ASSERT_TRUE(twice.observe(segment));
  }
  ASSERT_TRUE(finish(twice, played.id, played.outcome).step);
  ASSERT_TRUE(feed(once, played).step);
  EXPECT_EQ(distance(*once.weights().weights, *twice.weights().weights), 0.0);
}

TEST(TrainerTest, FreshTokensAgreeWithTheGeneratorAndAreCounted) {
  TrainerSetup setup = tiny_setup();
  setup.learner.step.trajectories = 4;
  Trainer trainer = tiny_trainer(setup);
  TinyWorld world{5};
  Progress progress;
  while (!progress.step) progress = feed(trainer, world.play(trainer.weights()));
  EXPECT_EQ(progress.step->tokens.fresh_tokens, 16);
  EXPECT_LT(progress.step->tokens.mismatch_max, 1e-5);
  EXPECT_EQ(progress.step->tokens.by_age.at(0).tokens, 16);
  EXPECT_EQ(progress.step->trained, (std::vector<TrajectoryId>{1, 2, 3, 4}));
  EXPECT_EQ(progress.step->version, (PolicyVersion{0, 1}));
  EXPECT_EQ(progress.step->updates, 2);
}

TEST(TrainerTest, TokensBeyondMaxLagAreMaskedAndTrajectoriesWithoutOthersDropped) {
  TrainerSetup setup = tiny_setup();
  setup.start = {0, 10};
  setup.learner.step.trajectories = 2;
  Trainer trainer = tiny_trainer(setup);
  TinyWorld world{5};
  const Trajectory old = world.play({{0, 7}, trainer.weights().weights});
  const Progress dropped = feed(trainer, old);
  ASSERT_EQ(dropped.dropped.size(), 1U);
  EXPECT_EQ(dropped.dropped[0].id, old.id);
  EXPECT_EQ(dropped.dropped[0].reason, DropReason::stale);
  Trajectory half_old = world.play(trainer.weights());
  for (PolicyVersion& v : half_old.segments[0].versions) v = {0, 7};
  EXPECT_FALSE(feed(trainer, half_old).step);
  const Progress done = feed(trainer, world.play(trainer.weights()));
  ASSERT_TRUE(done.step);
  EXPECT_EQ(done.step->tokens.stale_tokens, 2);
  EXPECT_EQ(done.step->tokens.tokens, 8);
  EXPECT_EQ(done.step->trained.size(), 2U);
}

TEST(TrainerTest, TrajectoryWithoutActionTokensIsDropped) {
  Trainer trainer = tiny_trainer(tiny_setup());
  const Segment silent{1, 0, {1, 2}, {0, 0}, {0, 0}, {{}, {}}};
  ASSERT_TRUE(trainer.observe(silent));
  const Progress progress = finish(trainer, 1, {});
  ASSERT_EQ(progress.dropped.size(), 1U);
  EXPECT_EQ(progress.dropped[0].reason, DropReason::no_action_tokens);
}

TEST(TrainerTest, ForgetFreesTheTrajectoryAndItsPrefix) {
  Trainer trainer = tiny_trainer(tiny_setup());
  const Trajectory played = TinyWorld{5}.play(trainer.weights());
  ASSERT_TRUE(trainer.observe(played.segments[0]));
  EXPECT_GT(trainer.status().bytes, 0);
  trainer.forget(played.id);
  EXPECT_EQ(trainer.status().bytes, 0);
  EXPECT_EQ(trainer.status().running, 0U);
  const auto closed = trainer.close(played.id, played.outcome);
  ASSERT_FALSE(closed);
  EXPECT_EQ(closed.error().code, ErrorCode::not_found);
}

TEST(TrainerTest, ATrajectoryWhosePrefixDoesNotFitIsScoredAtItsFirstUse) {
  TrainerSetup setup = tiny_setup();
  setup.learner.step.trajectories = 1;
  Trainer roomy = tiny_trainer(setup);
  setup.learner.max_held_bytes = 1;
  Trainer tight = tiny_trainer(setup);
  const Trajectory played = TinyWorld{5}.play(roomy.weights());
  feed(roomy, played);
  feed(tight, played);
  EXPECT_EQ(tight.status().released_prefixes, 1);
  EXPECT_LT(distance(*roomy.weights().weights, *tight.weights().weights), 1e-4);
}

/// A trainer whose weights are not finite, with steps of one trajectory and one update.
Trainer broken_trainer() {
  TrainerSetup setup = tiny_setup();
  setup.learner.step = {.trajectories = 1};
  setup.learner.max_skipped = 2;
  ModelWeights weights = tiny_weights(1);
  weights.final_norm.fill_(std::numeric_limits<float>::quiet_NaN());
  return {setup, tiny_config(), weights};
}

TEST(TrainerTest, UpdatesWithNumbersThatAreNotFiniteAreSkippedAndThenStopTheRun) {
  Trainer trainer = broken_trainer();
  const Trainer sound = tiny_trainer(tiny_setup());
  TinyWorld world{5};
  const ModelWeights before = trainer.weights().weights->clone();
  const Progress first = feed(trainer, world.play({trainer.version(), sound.weights().weights}));
  ASSERT_TRUE(first.step);
  EXPECT_EQ(first.step->skipped_updates, 1);
  EXPECT_FALSE(first.halt);
  EXPECT_EQ(distance({.embed = before.embed, .layers = before.layers},
                     {.embed = trainer.weights().weights->embed,
                      .layers = trainer.weights().weights->layers}),
            0.0);
  const Progress second = feed(trainer, world.play({trainer.version(), sound.weights().weights}));
  ASSERT_TRUE(second.halt);
  EXPECT_EQ(second.halt->code, ErrorCode::infrastructure);
  EXPECT_NE(second.halt->message.find("2 updates in a row"), std::string::npos)
      << second.halt->message;
  EXPECT_NE(second.halt->message.find("weights are not finite"), std::string::npos)
      << second.halt->message;
}

/// A prompt token, then one that was sampled with that log-probability.
Segment sampled_with(TrajectoryId id, float log_prob, PolicyVersion version) {
  return {id, 0, {8, 0}, {0, 1}, {0, log_prob}, {{}, version}};
}

TEST(TrainerTest, SegmentsWithoutFiniteLogProbabilitiesStopTheRun) {
  TrainerSetup setup = tiny_setup();
  setup.learner.max_skipped = 2;
  Trainer trainer = tiny_trainer(setup);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const auto refused = trainer.observe(sampled_with(1, nan, {1, 7}));
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("token 1 has log-probability nan under the weights of "
                                         "step 7; expected a finite number"),
            std::string::npos)
      << refused.error().message;
  ASSERT_TRUE(trainer.observe(sampled_with(2, -1, {1, 7})));
  ASSERT_FALSE(trainer.observe(sampled_with(3, nan, {1, 7})));
  EXPECT_FALSE(trainer.halt()) << "not in a row";
  Segment next = sampled_with(3, -1, {1, 7});
  next.number = 1;
  ASSERT_FALSE(trainer.observe(next)) << "its trajectory was forgotten";
  EXPECT_FALSE(trainer.halt()) << "the gap follows from the refusal";
  ASSERT_FALSE(trainer.observe(sampled_with(4, -HUGE_VALF, {1, 7})));
  ASSERT_TRUE(trainer.halt());
  EXPECT_NE(trainer.halt()->message.find("2 segments in a row were refused"), std::string::npos)
      << trainer.halt()->message;
}

TEST(TrainerTest, TokensOfABrainAreRefusedAsSuch) {
  Trainer trainer = tiny_trainer(tiny_setup());
  const auto refused = trainer.observe(sampled_with(1, unknown_log_prob, no_weights));
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("a [brain] gave it"), std::string::npos)
      << refused.error().message;
}

TEST(TrainerTest, FlushCompletesTheStepEarly) {
  Trainer trainer = tiny_trainer(tiny_setup());
  EXPECT_FALSE(trainer.flush().step);
  TinyWorld world{5};
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(feed(trainer, world.play(trainer.weights())).step);
  const Progress flushed = trainer.flush();
  ASSERT_TRUE(flushed.step);
  EXPECT_EQ(flushed.step->trained.size(), 3U);
  EXPECT_EQ(flushed.step->updates, 2);
  EXPECT_FALSE(trainer.flush().step);
}

TEST(TrainerTest, ValueWarmupDoesNotChangeThePolicy) {
  for (const CriticKind kind : {CriticKind::shared, CriticKind::separate}) {
    TrainerSetup setup = tiny_setup();
    setup.learner.critic.kind = kind;
    setup.learner.critic.value_warmup = 2;
    Trainer trainer = tiny_trainer(setup);
    const auto before = trainer.weights().weights;
    learning_curve(trainer, 2, 0);
    EXPECT_EQ(distance(*before, *trainer.weights().weights), 0.0);
    EXPECT_EQ(trainer.version().step, 2U);
    learning_curve(trainer, 1, 0);
    EXPECT_GT(distance(*before, *trainer.weights().weights), 0.0);
  }
}

TEST(TrainerTest, CriticFindsTheMeanReturnDuringValueWarmup) {
  TrainerSetup setup = tiny_setup();
  setup.learner.critic.kind = CriticKind::separate;
  setup.learner.forwards = ForwardMode::at_use;
  setup.learner.critic.value_warmup = 1000;
  Trainer trainer = tiny_trainer(setup);
  TinyWorld world{5};
  std::optional<StepReport> last;
  while (trainer.version().step < 6) {
    for (const Trajectory& played : world.play(trainer.weights(), 32)) {
      Progress progress = feed(trainer, played);
      if (progress.step) last = std::move(progress.step);
    }
  }
  EXPECT_TRUE(last->value_only);
  EXPECT_LT(last->tokens.target_mean, -0.7);  // an untrained policy is mostly wrong
  EXPECT_NEAR(last->tokens.value_mean, last->tokens.target_mean, 0.2);
}

TEST(TrainerTest, ImpossibleSegmentsAreRefusedByName) {
  Trainer trainer = tiny_trainer(tiny_setup());
  const auto refused = [&](Segment s, const char* why) {
    s.trajectory = 9;
    const auto taken = trainer.observe(s);
    ASSERT_FALSE(taken) << why;
    EXPECT_NE(taken.error().message.find("trajectory 9"), std::string::npos);
    EXPECT_EQ(trainer.status().running, 0U);
  };
  const float nan = std::numeric_limits<float>::quiet_NaN();
  refused({0, 0, {1, 99}, {0, 1}, {0, -1}, {{}, {}}}, "token beyond the vocabulary");
  refused({0, 0, {1, -1}, {0, 1}, {0, -1}, {{}, {}}}, "negative token");
  refused({0, 0, {1, 2}, {0, 1}, {0, nan}, {{}, {}}}, "log-probability is not a number");
  refused({0, 0, {1, 2}, {0, 1}, {0, 2}, {{}, {}}}, "log-probability above zero");
  refused({0, 0, {1, 2}, {0, 7}, {0, -1}, {{}, {}}}, "mask is not a bit");
  refused({0, 0, {1, 2}, {1, 1}, {-1, -1}, {{}, {}}}, "begins with a sampled token");
  refused({0, 1, {1, 2}, {0, 1}, {0, -1}, {{}, {}}}, "gap in the numbers");
  refused({0, 0, {1, 2}, {0, 1}, {0}, {{}, {}}}, "arrays differ in length");
}

TEST(TrainerTest, TrajectoryWithARefusedSegmentIsNotTrained) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<Segment> bad{{9, 1, {1, 2}, {0, 1}, {0, nan}, {{}, {}}},
                                 {9, 1, {1, 99}, {0, 1}, {0, -1}, {{}, {}}},
                                 {9, 2, {1, 2}, {0, 1}, {0, -1}, {{}, {}}}};
  for (const Segment& refused : bad) {
    Trainer trainer = tiny_trainer(tiny_setup());
    ASSERT_TRUE(trainer.observe({9, 0, {1, 2}, {0, 1}, {0, -1}, {{}, {}}}));
    EXPECT_FALSE(trainer.observe(refused));
    EXPECT_EQ(trainer.status().running, 0U);
    EXPECT_FALSE(trainer.observe({9, 2, {1, 2}, {0, 1}, {0, -1}, {{}, {}}}))
        << "the trajectory is forgotten";
    const auto closed = trainer.close(9, {.reward = 1});
    ASSERT_FALSE(closed);
    EXPECT_EQ(closed.error().code, ErrorCode::not_found);
  }
}

TEST(TrainerTest, RewardThatIsNotFiniteIsRefused) {
  Trainer trainer = tiny_trainer(tiny_setup());
  const Trajectory played = TinyWorld{5}.play(trainer.weights());
  ASSERT_TRUE(trainer.observe(played.segments[0]));
  EXPECT_FALSE(trainer.close(played.id, {.reward = std::numeric_limits<double>::infinity()}));
  EXPECT_TRUE(trainer.close(played.id, {.reward = 1}));
}

}  // namespace
}  // namespace warpsmith::policy
