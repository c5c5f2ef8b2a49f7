// SPDX-License-Identifier: Apache-2.0
// The learner on a GPU against the learner on a CPU.
#include <ATen/Context.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include "policy/learn/placement.hpp"
#include "policy/learn/streaming_forward.hpp"
#include "policy/learn/trainer.hpp"
#include "tests/policy/learn/tiny_world.hpp"

namespace warpsmith::policy {
namespace {

class LearnerGpuTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!at::hasCUDA()) GTEST_SKIP() << "LibTorch finds no GPU";
  }

  static TrainerSetup setup(ComputeDevice device, ComputePrecision precision) {
    TrainerSetup s;
    s.seed = 3;
    s.learner.device = device;
    s.learner.precision = precision;
    s.learner.step.trajectories = 8;
    s.learner.step.minibatches = 2;
    s.learner.optimizer.learning_rate = 3e-3;
    s.learner.optimizer.critic_learning_rate = 1e-2;
    s.learner.critic.kind = CriticKind::separate;
    s.learner.loss.kl = 0.01;
    s.learner.loss.entropy = 0.01;
    // With the usual epsilon, AdamW turns rounding differences of tiny gradients into whole steps.
    s.learner.optimizer.epsilon = 1e-3;
    return s;
  }
};

ModelWeights on_cpu(const ModelWeights& weights) {
  return weights.converted(at::TensorOptions(at::kCPU).dtype(at::kFloat));
}

TEST_F(LearnerGpuTest, StepInFp32EqualsTheCpus) {
  Trainer cpu{setup(ComputeDevice::cpu, ComputePrecision::fp32), tiny_config(), tiny_weights(1)};
  Trainer gpu{setup(ComputeDevice::cuda, ComputePrecision::fp32), tiny_config(), tiny_weights(1)};
  Progress on_cpu_step;
  Progress on_gpu_step;
  for (const Trajectory& played : TinyWorld{5}.play(cpu.weights(), 8)) {
    on_cpu_step = feed(cpu, played);
    on_gpu_step = feed(gpu, played);
  }
  ASSERT_TRUE(on_cpu_step.step && on_gpu_step.step);
  EXPECT_EQ(on_gpu_step.step->updates, 2);
  EXPECT_NEAR(on_gpu_step.step->policy_loss, on_cpu_step.step->policy_loss, 1e-4);
  EXPECT_NEAR(on_gpu_step.step->value_loss, on_cpu_step.step->value_loss, 1e-4);
  EXPECT_NEAR(on_gpu_step.step->gradient_norm, on_cpu_step.step->gradient_norm, 1e-4);
  EXPECT_LT(distance(*cpu.weights().weights, on_cpu(*gpu.weights().weights)), 1e-5);
}

TEST_F(LearnerGpuTest, RewardRisesInBf16) {
  TrainerSetup s = setup(ComputeDevice::cuda, ComputePrecision::bf16);
  s.learner.step = {.trajectories = 32, .epochs = 2};
  s.learner.optimizer.epsilon = 1e-8;
  s.learner.advantage.lambda = 1.0;
  s.learner.critic.kind = CriticKind::shared;
  Trainer trainer{s, tiny_config(), tiny_weights(1)};
  EXPECT_EQ(trainer.weights().weights->embed.scalar_type(), at::kBFloat16);
  EXPECT_TRUE(trainer.weights().weights->embed.is_cuda());
  const std::vector<double> curve = learning_curve(trainer, 20, /*lag=*/1);
  EXPECT_GT(curve.back() - curve.front(), 0.8);
}

/// The largest difference between scores segment by segment and of the whole trajectory.
double streaming_error(ComputePrecision precision) {
  LearnerConfig config;
  config.device = ComputeDevice::cuda;
  config.precision = precision;
  const Placement place = placement_of(config);
  const ModelWeights weights =
      tiny_weights(1).converted(at::TensorOptions(place.device).dtype(at::kFloat));
  const ActorCritic networks{
      Transformer{tiny_config(), weights, place.compute}, {.kind = CriticKind::separate}, 1.0};
  const auto published = std::make_shared<const ModelWeights>(networks.actor().computed().clone());
  const Trajectory played = TinyWorld{5}.play({{}, published});
  HeldTrajectory held;
  KeptPrefix prefix{networks};
  for (const Segment& segment : played.segments) {
    EXPECT_TRUE(held.append(segment));
    prefix.extend(networks, held, {}, false);
  }
  const at::NoGradGuard no_grad;
  const HeldTrajectory* pack = &held;
  const TokenEvaluation whole = networks.evaluate({&pack, 1}, Reach::everything);
  double error = 0;
  const std::vector<int64_t> actions = action_positions(held);
  for (size_t i = 0; i < actions.size(); ++i) {
    const double expected = whole.log_prob[static_cast<int64_t>(i)].item<double>();
    error = std::max(error, std::abs(held.proximal[static_cast<size_t>(actions[i])] - expected));
  }
  return error;
}

TEST_F(LearnerGpuTest, SegmentBySegmentEqualsWhole) {
  EXPECT_LT(streaming_error(ComputePrecision::fp32), 1e-5);
  EXPECT_LT(streaming_error(ComputePrecision::bf16), 0.03) << "bf16 keeps 8 bits";
}

/// Gradients of the mean log-probability of random tokens.
Transformer trained(const ModelConfig& config, const ComputeOptions& compute,
                    const std::vector<std::vector<int32_t>>& texts) {
  RandomStream random{9, "long model"};
  const ModelWeights weights =
      make_weights(config, random).converted(at::TensorOptions(at::kCUDA).dtype(at::kFloat));
  Transformer model{config, weights, compute};
  model.weights().require_grad();
  const PackedBatch batch = pack_sequences(texts);
  const at::Tensor hidden = model.forward(batch);
  token_log_probs(hidden, model.head(), batch.tokens.to(hidden.device()))
      .log_probs.mean()
      .backward();
  return model;
}

/// The largest relative difference between gradients in bf16 and in fp32.
double gradient_error(const std::vector<int64_t>& lengths) {
  ModelConfig config = tiny_config();
  config.family = Family::qwen3;
  config.qk_norm = true;
  config.head_dim = 64;
  config.max_positions = 16'384;
  std::vector<std::vector<int32_t>> texts;
  RandomStream random{4, "texts"};
  for (const int64_t length : lengths) {
    auto& text = texts.emplace_back(static_cast<size_t>(length));
    for (int32_t& token : text) token = static_cast<int32_t>(random.below(16));
  }
  const Transformer wide = trained(config, {.recompute = true}, texts);
  const Transformer narrow = trained(config, {.type = at::kBFloat16}, texts);
  double worst = 0;
  for (size_t i = 0; i < wide.weights().parameters().size(); ++i) {
    const at::Tensor a = wide.weights().parameters()[i].second.grad();
    const at::Tensor b = narrow.weights().parameters()[i].second.grad();
    worst = std::max(worst, (a - b).norm().item<double>() / a.norm().item<double>());
  }
  return worst;
}

TEST_F(LearnerGpuTest, LongSequenceHasTheGradientsOfFp32) {
  EXPECT_LT(gradient_error({9'000}), 0.05);
}

TEST_F(LearnerGpuTest, PackedSequencesHaveTheGradientsOfFp32) {
  EXPECT_LT(gradient_error({300, 1, 77, 512}), 0.05);
}

}  // namespace
}  // namespace warpsmith::policy
