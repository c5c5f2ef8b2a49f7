// SPDX-License-Identifier: Apache-2.0
// A restored trainer continues like the saved one.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "policy/format/hf_folder.hpp"
#include "policy/learn/trainer.hpp"
#include "policy/learn/trainer_checkpoint.hpp"
#include "tests/policy/learn/tiny_world.hpp"
#include "tests/support/temporary_folder.hpp"

namespace warpsmith::policy {
namespace {

namespace fs = std::filesystem;

class TrainerCheckpointTest : public testing::Test {
 protected:
  static TrainerSetup setup() {
    TrainerSetup s;
    s.seed = 3;
    s.learner.step.trajectories = 8;
    s.learner.step.epochs = 2;
    s.learner.optimizer.learning_rate = 3e-3;
    s.learner.optimizer.critic_learning_rate = 1e-2;
    s.learner.critic.kind = CriticKind::separate;
    s.learner.critic.prompt_baseline = true;
    s.learner.critic.surprise = true;
    s.learner.advantage.running_scale = true;
    s.learner.loss.kl = 0.01;
    return s;
  }
  static Trainer trainer(uint64_t seed) { return {setup(), tiny_config(), tiny_weights(seed)}; }

  test_support::TemporaryFolder temporary_;
  const fs::path folder_ = temporary_.path();
};

void train(Trainer& trainer, TinyWorld& world, uint32_t until_step) {
  while (trainer.version().step < until_step) feed(trainer, world.play(trainer.weights()));
}

TEST_F(TrainerCheckpointTest, RestoredTrainerContinuesLikeTheSavedOne) {
  Trainer first = trainer(1);
  TinyWorld world{5};
  train(first, world, 2);
  ASSERT_TRUE(first.snapshot()->save(folder_));
  Trainer second = trainer(2);
  const auto restored = second.restore(folder_, 1);
  ASSERT_TRUE(restored) << restored.error().message;
  EXPECT_EQ(second.version(), (PolicyVersion{1, 2}));
  EXPECT_EQ(distance(*first.weights().weights, *second.weights().weights), 0.0);
  TinyWorld a{6};
  TinyWorld b{6};
  train(first, a, 4);
  train(second, b, 4);
  // The prompts' overall mean is summed in another order after a restart.
  EXPECT_LT(distance(*first.weights().weights, *second.weights().weights), 1e-4);
}

TEST_F(TrainerCheckpointTest, LagOfRolledBackTokensGrowsWithNewSteps) {
  TrainerSetup s = setup();
  s.start = {1, 0};
  s.learner.max_lag = 4;
  Trainer first{s, tiny_config(), tiny_weights(1)};
  TinyWorld world{5};
  train(first, world, 2);
  ASSERT_TRUE(first.snapshot()->save(folder_));
  train(first, world, 4);
  const WeightSnapshot lost = first.weights();
  Trainer second{s, tiny_config(), tiny_weights(1)};
  ASSERT_TRUE(second.restore(folder_, 2));
  // Two steps before the rollback, and one more after it with every new step.
  for (const uint32_t lag : {2U, 3U, 4U}) {
    Progress progress;
    while (!progress.step) progress = feed(second, world.play(lost));
    EXPECT_EQ(progress.step->tokens.by_age.begin()->first, lag);
    EXPECT_EQ(progress.step->tokens.stale_tokens, 0);
  }
  const Progress last = feed(second, world.play(lost));
  ASSERT_EQ(last.dropped.size(), 1U);
  EXPECT_EQ(last.dropped[0].reason, DropReason::stale);
}

TEST_F(TrainerCheckpointTest, CheckpointRemembersEarlierIncarnations) {
  TrainerSetup s = setup();
  s.start = {1, 0};
  Trainer first{s, tiny_config(), tiny_weights(1)};
  TinyWorld world{5};
  train(first, world, 1);
  ASSERT_TRUE(first.snapshot()->save(folder_));
  Trainer second{s, tiny_config(), tiny_weights(1)};
  ASSERT_TRUE(second.restore(folder_, 2));
  ASSERT_TRUE(second.snapshot()->save(folder_));
  const auto numbers = read_trainer_numbers(folder_ / "trainer.json");
  ASSERT_TRUE(numbers) << numbers.error().message;
  EXPECT_EQ(numbers->restored, (RestoredSteps{{1, 0}, {2, 1}}));
}

TEST_F(TrainerCheckpointTest, ASnapshotDoesNotChangeAfterwards) {
  Trainer going = trainer(1);
  TinyWorld world{5};
  train(going, world, 1);
  const auto taken = going.snapshot();
  const ModelWeights then = going.weights().weights->clone();
  train(going, world, 3);
  ASSERT_TRUE(taken->save(folder_));
  Trainer restored = trainer(2);
  ASSERT_TRUE(restored.restore(folder_, 1));
  EXPECT_EQ(restored.version(), (PolicyVersion{1, 1}));
  EXPECT_EQ(distance(*restored.weights().weights, then), 0.0);
}

TEST_F(TrainerCheckpointTest, PolicyIsAModelFolder) {
  Trainer saved = trainer(1);
  ASSERT_TRUE(saved.snapshot()->save(folder_));
  const auto model = load_hf_model(folder_);
  ASSERT_TRUE(model) << model.error().message;
  EXPECT_EQ(distance(model->weights(), *saved.weights().weights), 0.0);
}

TEST_F(TrainerCheckpointTest, NoSnapshotInTheMiddleOfAStep) {
  Trainer busy = trainer(1);
  TinyWorld world{5};
  for (const Trajectory& played : world.play(busy.weights(), 8)) {
    for (const Segment& segment : played.segments) ASSERT_TRUE(busy.observe(segment));
    ASSERT_TRUE(busy.close(played.id, played.outcome));
  }
  while (!busy.mid_step()) EXPECT_FALSE(busy.advance().step);
  const auto saved = busy.snapshot();
  ASSERT_FALSE(saved);
  EXPECT_EQ(saved.error().code, ErrorCode::invalid_argument);
}

TEST_F(TrainerCheckpointTest, EveryMissingFileIsNamed) {
  Trainer saved = trainer(1);
  for (const char* file :
       {"trainer.json", "model.safetensors", "critic/model.safetensors",
        "critic/value_head.safetensors", "reference/model.safetensors", "optimizer.safetensors"}) {
    ASSERT_TRUE(saved.snapshot()->save(folder_));
    ASSERT_TRUE(fs::remove(folder_ / file)) << file;
    const auto restored = trainer(1).restore(folder_, 1);
    ASSERT_FALSE(restored) << file;
    EXPECT_NE(restored.error().message.find(fs::path(file).filename().string()), std::string::npos)
        << restored.error().message;
  }
}

TEST_F(TrainerCheckpointTest, BrokenNumbersAreRefused) {
  const fs::path file = folder_ / "trainer.json";
  for (const char* text : {"", "{", "[]", "{\"step\":-1}",
                           R"({"step":1,"updates":2,"mean_square":0,"prompts":{"x":[1,2]}})",
                           R"({"step":1,"updates":2,"mean_square":0,"prompts":{"7":[1]}})",
                           R"({"step":1,"updates":2,"mean_square":"no","prompts":{}})"}) {
    std::ofstream(file) << text;
    const auto numbers = read_trainer_numbers(file);
    ASSERT_FALSE(numbers) << text;
    EXPECT_EQ(numbers.error().code, ErrorCode::parse_failed);
    EXPECT_NE(numbers.error().message.find("trainer.json"), std::string::npos);
  }
}

TEST_F(TrainerCheckpointTest, FullDiskIsReported) {
  const auto written = write_trainer_numbers("/dev/full", {});
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code, ErrorCode::disk_full);
}

TEST_F(TrainerCheckpointTest, MutatedNumbersParseOrFail) {
  const fs::path file = folder_ / "trainer.json";
  ASSERT_TRUE(write_trainer_numbers(file, {3, 12, 0.5, {{7, {1.5, 2.5}}, {9, {-1, 1}}}}));
  std::ifstream in(file);
  const std::string valid{std::istreambuf_iterator<char>(in), {}};
  RandomStream random{1, "fuzz"};
  for (int round = 0; round < 300; ++round) {
    std::string text = valid;
    for (int i = 0; i < 3; ++i) {
      text[static_cast<size_t>(random.below(text.size()))] = static_cast<char>(random.below(256));
    }
    std::ofstream(file) << text;
    const auto numbers = read_trainer_numbers(file);
    if (numbers) continue;
    EXPECT_EQ(numbers.error().code, ErrorCode::parse_failed);
  }
}

}  // namespace
}  // namespace warpsmith::policy
