// SPDX-License-Identifier: Apache-2.0
// Low-rank adapters: gradients, merging, training and checkpoints.
#include "policy/learn/lora.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/matmul.h>
#include <gmock/gmock.h>
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
using testing::HasSubstr;

const LoraConfig small{.rank = 4, .alpha = 8};

ActorCritic adapted(at::ScalarType type, const LoraConfig& lora = small,
                    const ComputeOptions& compute = {}) {
  return {Transformer{tiny_config(), tiny_weights(1, type), compute}, CriticConfig{}, 1.0, lora, 7};
}

/// Mean −log p of the next token of two texts.
at::Tensor sft_loss(const Transformer& model) {
  const PackedBatch batch = pack_sequences(
      std::vector<std::vector<int32_t>>{{8, 1, 2, 3, 15, 1, 0, 2}, {9, 4, 4, 1, 15, 6}});
  const at::Tensor hidden = model.forward(batch).narrow(0, 0, batch.tokens.size(0) - 1);
  const at::Tensor next = batch.tokens.narrow(0, 1, batch.tokens.size(0) - 1);
  return token_log_probs(hidden, model.head(), next).log_probs.mean().neg();
}

/// Replaces the zeros of every B, so that gradients reach A.
void fill_b(ActorCritic& networks) {
  const at::NoGradGuard no_grad;
  RandomStream random{2, "fill_b"};
  for (auto& [name, tensor] : networks.lora()->parameters()) {
    if (!name.ends_with("lora_b")) continue;
    at::Tensor flat = at::Tensor(tensor).view({-1});
    for (int64_t i = 0; i < flat.numel(); ++i) flat[i] = 0.2 * random.uniform() - 0.1;
  }
  networks.refresh();
}

at::Tensor& element(const at::Tensor& tensor, int64_t i, at::Tensor& view) {
  view = tensor.detach().view({-1}).narrow(0, i, 1);
  return view;
}

double loss_after(ActorCritic& networks, const at::Tensor& parameter, int64_t i, double change) {
  const at::NoGradGuard no_grad;
  at::Tensor view;
  element(parameter, i, view).add_(change);
  networks.refresh();
  const double loss = sft_loss(networks.actor()).item<double>();
  element(parameter, i, view).sub_(change);
  networks.refresh();
  return loss;
}

TEST(LoraTest, GradientsEqualFiniteDifferences) {
  for (const bool recompute : {false, true}) {
    ActorCritic networks = adapted(at::kDouble, small, {.recompute = recompute});
    fill_b(networks);
    sft_loss(networks.actor()).backward();
    constexpr double step = 1e-5;
    for (const auto& [name, parameter] : networks.lora()->parameters()) {
      ASSERT_TRUE(parameter.grad().defined()) << name;
      for (const int64_t i : {int64_t{0}, parameter.numel() / 2, parameter.numel() - 1}) {
        const double slope =
            (loss_after(networks, parameter, i, step) - loss_after(networks, parameter, i, -step)) /
            (2 * step);
        at::Tensor view;
        EXPECT_NEAR(element(parameter.grad(), i, view).item<double>(), slope, 1e-8) << name;
      }
    }
  }
}

TEST(LoraTest, GradientsOfSeveralPassesAddUpAndTheDenseOnesAreFreed) {
  ActorCritic networks = adapted(at::kDouble);
  fill_b(networks);
  sft_loss(networks.actor()).backward();
  std::vector<at::Tensor> once;
  for (const auto& [name, parameter] : networks.lora()->parameters()) {
    once.push_back(parameter.grad().clone());
  }
  sft_loss(networks.actor()).backward();
  const NamedParameters all = networks.lora()->parameters();
  for (size_t i = 0; i < all.size(); ++i) {
    EXPECT_LT((all[i].second.grad() - 2 * once[i]).abs().max().item<double>(), 1e-12);
  }
  for (const auto& [name, tensor] : networks.actor().weights().parameters()) {
    EXPECT_FALSE(tensor.grad().defined()) << name;
  }
}

TEST(LoraTest, NarrowWeightsHaveNearlyTheGradientsOfWideOnes) {
  ActorCritic wide = adapted(at::kFloat, small, {.recompute = true});
  ActorCritic narrow{
      Transformer{tiny_config(), tiny_weights(1).converted(at::kBFloat16), {.recompute = true}},
      CriticConfig{}, 1.0, small, 7};
  for (ActorCritic* networks : {&wide, &narrow}) {
    fill_b(*networks);
    sft_loss(networks->actor()).backward();
  }
  const NamedParameters expected = wide.lora()->parameters();
  const NamedParameters got = narrow.lora()->parameters();
  for (size_t i = 0; i < got.size(); ++i) {
    EXPECT_EQ(got[i].second.scalar_type(), at::kFloat);
    const at::Tensor gap = got[i].second.grad() - expected[i].second.grad();
    EXPECT_LT(gap.norm().item<double>(), 0.05 * expected[i].second.grad().norm().item<double>())
        << got[i].first << ": bf16 keeps 8 bits";
  }
}

TEST(LoraTest, MergedIsBasePlusScaledProduct) {
  ActorCritic networks = adapted(at::kFloat);
  EXPECT_EQ(distance(networks.actor().weights(), tiny_weights(1)), 0.0) << "B starts as 0";
  fill_b(networks);
  const ModelWeights base = tiny_weights(1);
  std::map<std::string, at::Tensor> adapters;
  for (const auto& [name, tensor] : networks.lora()->parameters()) adapters[name] = tensor.detach();
  for (size_t i = 0; i < base.layers.size(); ++i) {
    const std::string name = "layers." + std::to_string(i) + ".gate_up.";
    const at::Tensor expected =
        base.layers[i].gate_up + 2.0 * adapters[name + "lora_b"].matmul(adapters[name + "lora_a"]);
    const at::Tensor merged = networks.actor().computed().layers[i].gate_up.detach();
    EXPECT_LT((merged - expected).abs().max().item<double>(), 1e-6);
    EXPECT_GT((merged - base.layers[i].gate_up).abs().max().item<double>(), 1e-3);
    EXPECT_TRUE(networks.actor().weights().layers[i].input_norm.equal(base.layers[i].input_norm));
  }
}

TEST(LoraTest, FrozenWeightsKeepTheirInitialValues) {
  ActorCritic networks = adapted(at::kFloat, {.rank = 2, .targets = {"qkv", "down"}});
  fill_b(networks);
  EXPECT_GT(distance(networks.actor().weights(), tiny_weights(1)), 1e-3);
  EXPECT_EQ(distance(networks.lora()->frozen(networks.actor().weights()), tiny_weights(1)), 0.0);
}

TEST(LoraTest, OnlyTargetsHaveAdapters) {
  const ActorCritic networks = adapted(at::kFloat, {.rank = 2, .targets = {"down"}});
  const NamedParameters all = networks.lora()->parameters();
  ASSERT_EQ(all.size(), 4U);
  EXPECT_EQ(all[0].first, "layers.0.down.lora_a");
  EXPECT_EQ(all[0].second.sizes(), (std::vector<int64_t>{2, 64}));
  EXPECT_EQ(all[3].first, "layers.1.down.lora_b");
  EXPECT_EQ(all[3].second.sizes(), (std::vector<int64_t>{32, 2}));
}

TEST(LoraTest, AFewStepsLowerTheLossOfFineTuning) {
  ActorCritic networks = adapted(at::kFloat);
  AdamW optimiser{{}, {{"policy", networks.lora()->parameters()}}};
  const double before = sft_loss(networks.actor()).item<double>();
  for (int i = 0; i < 30; ++i) {
    sft_loss(networks.actor()).backward();
    optimiser.step(0, 1e-2, 1.0);
    networks.refresh();
  }
  EXPECT_LT(sft_loss(networks.actor()).item<double>(), 0.5 * before);
}

TEST(LoraTest, RankBeyondAMatrixIsRefusedByName) {
  EXPECT_TRUE(check_lora({.rank = 0}, tiny_config()));
  EXPECT_TRUE(check_lora({.rank = 32}, tiny_config()));
  const auto refused = check_lora({.rank = 33}, tiny_config());
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("learner.lora.rank: expected at most 32"));
}

class LoraTrainerTest : public testing::Test {
 protected:
  static TrainerSetup setup(int64_t ranks = 1) {
    TrainerSetup s;
    s.seed = 3;
    s.base = "the base";
    s.learner.lora = small;
    s.learner.gpus = ranks;
    s.learner.forwards = ForwardMode::at_use;
    s.learner.step = {.trajectories = 16, .epochs = 2};
    s.learner.pack_tokens = 64;
    s.learner.advantage.lambda = 1.0;
    s.learner.loss.kl = 1e-3;
    s.learner.optimizer.learning_rate = 1e-2;
    s.learner.optimizer.critic_learning_rate = 1e-2;
    return s;
  }
  static Trainer trainer(const TrainerSetup& setup, uint64_t base = 1) {
    return {setup, tiny_config(), tiny_weights(base)};
  }
  std::string refusal(const TrainerSetup& setup, uint64_t base = 1) const {
    const auto restored = trainer(setup, base).restore(folder_, 1);
    return restored ? "restored" : restored.error().message;
  }

  test_support::TemporaryFolder temporary_;
  const fs::path folder_ = temporary_.path();
};

TEST_F(LoraTrainerTest, RewardRisesAndEverythingElseStaysFrozen) {
  for (const CriticKind kind : {CriticKind::shared, CriticKind::separate}) {
    TrainerSetup s = setup();
    s.learner.step.trajectories = 32;
    s.learner.critic.kind = kind;
    Trainer trained = trainer(s);
    const std::vector<double> curve = learning_curve(trained, 20, /*lag=*/0);
    EXPECT_GT(curve[18] + curve[19] - curve[0] - curve[1], 1.0) << testing::PrintToString(curve);
    const ModelWeights before = tiny_weights(1);
    const ModelWeights& after = *trained.weights().weights;
    EXPECT_TRUE(after.embed.equal(before.embed));
    EXPECT_TRUE(after.head.equal(before.head));
    EXPECT_TRUE(after.layers[1].post_norm.equal(before.layers[1].post_norm));
    EXPECT_FALSE(after.layers[1].down.equal(before.layers[1].down));
  }
}

TEST_F(LoraTrainerTest, ResumedTrainerContinuesBitForBit) {
  Trainer first = trainer(setup());
  learning_curve(first, 2, 0);
  ASSERT_TRUE(first.snapshot()->save(folder_));
  Trainer second = trainer(setup());
  const auto restored = second.restore(folder_, 0);
  ASSERT_TRUE(restored) << restored.error().message;
  EXPECT_EQ(distance(*first.weights().weights, *second.weights().weights), 0.0);
  learning_curve(first, 2, 0);
  learning_curve(second, 2, 0);
  EXPECT_EQ(distance(*first.weights().weights, *second.weights().weights), 0.0);
}

TEST_F(LoraTrainerTest, CheckpointIsAModelFolderOfTheMergedWeights) {
  Trainer trained = trainer(setup());
  learning_curve(trained, 1, 0);
  ASSERT_TRUE(trained.snapshot()->save(folder_));
  const auto model = load_hf_model(folder_);
  ASSERT_TRUE(model) << model.error().message;
  EXPECT_EQ(distance(model->weights(), *trained.weights().weights), 0.0);
  EXPECT_GT(distance(model->weights(), tiny_weights(1)), 0.0);
  EXPECT_FALSE(fs::exists(folder_ / "reference")) << "that is the base";
}

TEST_F(LoraTrainerTest, CheckpointOfOtherAdaptersIsRefusedByName) {
  ASSERT_TRUE(trainer(setup()).snapshot()->save(folder_));
  TrainerSetup other = setup();
  other.learner.lora.rank = 8;
  EXPECT_THAT(refusal(other), HasSubstr("(rank 8, alpha 8,"));
  EXPECT_THAT(refusal(other), HasSubstr("got rank 4"));
  other = setup();
  other.learner.lora.targets = {"down"};
  EXPECT_THAT(refusal(other), HasSubstr("targets down), got rank 4"));
  other.learner.lora = {};
  EXPECT_THAT(refusal(other), HasSubstr("learner.lora.rank: expected 4, as in"));
  EXPECT_THAT(refusal(setup(), /*base=*/2), HasSubstr("belong to the weights of the base"));
  EXPECT_EQ(refusal(setup()), "restored");
}

TEST_F(LoraTrainerTest, CheckpointWithoutAdaptersIsRefused) {
  TrainerSetup whole = setup();
  whole.learner.lora = {};
  ASSERT_TRUE(trainer(whole).snapshot()->save(folder_));
  EXPECT_THAT(refusal(setup()), HasSubstr("adapter.json is missing"));
}

TEST_F(LoraTrainerTest, DamagedAdaptersAreRefused) {
  ASSERT_TRUE(trainer(setup()).snapshot()->save(folder_));
  ASSERT_TRUE(fs::remove(folder_ / "adapter.safetensors"));
  EXPECT_THAT(refusal(setup()), HasSubstr("adapter.safetensors"));
  std::ofstream(folder_ / "adapter.json") << "{\"rank\": \"four\"}";
  EXPECT_THAT(refusal(setup()), HasSubstr("adapter.json"));
}

TEST_F(LoraTrainerTest, TwoRanksTrainAdaptersLikeOne) {
  const auto changed = [](int64_t ranks) {
    TrainerSetup s = setup(ranks);
    s.learner.optimizer.epsilon = 1e-3;
    return s;
  };
  Trainer one = trainer(changed(1));
  Trainer two = trainer(changed(2));
  TinyWorld world{5};
  for (int step = 0; step < 3; ++step) {
    for (const Trajectory& played : world.play(one.weights(), 16)) {
      feed(one, played);
      feed(two, played);
    }
  }
  EXPECT_EQ(two.version().step, 3U);
  EXPECT_LT(distance(*one.weights().weights, *two.weights().weights), 1e-5);
  ASSERT_TRUE(two.snapshot()->save(folder_));
  Trainer again = trainer(changed(1));
  ASSERT_TRUE(again.restore(folder_, 0));
  EXPECT_EQ(distance(*again.weights().weights, *two.weights().weights), 0.0);
}

}  // namespace
}  // namespace warpsmith::policy
