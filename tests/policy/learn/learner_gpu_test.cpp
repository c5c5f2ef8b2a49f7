// SPDX-License-Identifier: Apache-2.0
// The learner on a GPU against the learner on a CPU: one rank, ranks through NCCL, and adapters.
#include <ATen/Context.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <optional>

#include "policy/learn/placement.hpp"
#include "policy/learn/ranks/threaded_group.hpp"
#include "policy/learn/running_trajectories.hpp"
#include "policy/learn/trainer.hpp"
#include "policy/model/attention.hpp"
#include "policy/model/libtorch_runtime.hpp"
#include "runtime/clock.hpp"
#include "tests/policy/learn/tiny_world.hpp"
#include "tests/support/temporary_folder.hpp"

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

TEST_F(LearnerGpuTest, StepInFp32EqualsTheStepOnACpu) {
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
double streaming_error(ComputePrecision precision, bool on_host = false) {
  LearnerConfig config;
  config.device = ComputeDevice::cuda;
  config.precision = precision;
  const Placement place = placement_of(config);
  const ModelWeights weights =
      tiny_weights(1).converted(at::TensorOptions(place.device).dtype(at::kFloat));
  ActorCritic networks{Transformer{tiny_config(), weights, place.compute},
                       {.kind = CriticKind::separate, .surprise = true},
                       1.0};
  const at::NoGradGuard no_grad;
  networks.value_head().weight.fill_(0.02);
  const auto published = std::make_shared<const ModelWeights>(networks.actor().computed().clone());
  const Trajectory played = TinyWorld{5}.play({{}, published});
  HeldTrajectory held;
  KeptPrefix prefix{networks};
  if (on_host) prefix.move_to_host();
  const SideStream beside{place.device};
  for (const Segment& segment : played.segments) {
    EXPECT_TRUE(held.append(segment));
    prefix.extend(networks, held, {}, false, beside);
  }
  const HeldTrajectory* pack = &held;
  const TokenEvaluation whole = networks.evaluate({&pack, 1}, GradientScope::everything);
  double error = 0;
  const std::vector<int64_t> actions = action_positions(held);
  for (size_t i = 0; i < actions.size(); ++i) {
    const auto row = static_cast<int64_t>(i);
    const auto t = static_cast<size_t>(actions[i]);
    error = std::max(error, std::abs(held.proximal[t] - whole.log_prob[row].item<double>()));
    error = std::max(error, std::abs(held.values[t] - whole.value[row].item<double>()));
  }
  return error;
}

TEST_F(LearnerGpuTest, SegmentBySegmentEqualsWhole) {
  for (int again = 0; again < 5; ++again) {  // a race would not show each time
    EXPECT_LT(streaming_error(ComputePrecision::fp32), 1e-5);
    EXPECT_LT(streaming_error(ComputePrecision::fp32, /*on_host=*/true), 1e-5);
    EXPECT_LT(streaming_error(ComputePrecision::bf16), 0.03) << "bf16 keeps 8 bits";
  }
}

TEST_F(LearnerGpuTest, AttentionToALongPrefixEqualsThatOfFp32) {
  constexpr int64_t rows = 1100;
  constexpr int64_t keys = 41'000;
  const auto options = at::TensorOptions(at::kCUDA).dtype(at::kBFloat16);
  // Large queries look at few keys each, as trained ones do.
  const Projected all{at::randn({rows, 4, 64}, options) * 3, at::randn({keys, 2, 64}, options),
                      at::randn({keys, 2, 64}, options)};
  const Projected wide{all.queries.to(at::kFloat), all.keys.to(at::kFloat),
                       all.values.to(at::kFloat)};
  const at::Tensor right = wide_continuation(wide);
  const double error = (fused_continuation(all) - right).abs().max().item<double>();
  EXPECT_LT(error, 0.02 * right.abs().max().item<double>()) << "bf16 keeps 8 bits";
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

ModelConfig long_config() {
  ModelConfig config = tiny_config();
  config.family = Family::qwen3;
  config.qk_norm = true;
  config.head_dim = 64;
  config.max_positions = 16'384;
  return config;
}

std::vector<std::vector<int32_t>> random_texts(const std::vector<int64_t>& lengths) {
  std::vector<std::vector<int32_t>> texts;
  RandomStream random{4, "texts"};
  for (const int64_t length : lengths) {
    auto& text = texts.emplace_back(static_cast<size_t>(length));
    for (int32_t& token : text) token = static_cast<int32_t>(random.below(16));
  }
  return texts;
}

/// The largest relative difference between two models' gradients.
double gradient_distance(const Transformer& a, const Transformer& b) {
  double worst = 0;
  for (size_t i = 0; i < a.weights().parameters().size(); ++i) {
    const at::Tensor expected = a.weights().parameters()[i].second.grad();
    const at::Tensor got = b.weights().parameters()[i].second.grad();
    worst =
        std::max(worst, (expected - got).norm().item<double>() / expected.norm().item<double>());
  }
  return worst;
}

/// Between gradients in bf16 and in fp32.
double gradient_error(const std::vector<int64_t>& lengths) {
  const auto texts = random_texts(lengths);
  return gradient_distance(trained(long_config(), {.recompute = true}, texts),
                           trained(long_config(), {.type = at::kBFloat16}, texts));
}

TEST_F(LearnerGpuTest, LongSequenceHasTheGradientsOfFp32) {
  EXPECT_LT(gradient_error({9'000}), 0.05);
}

TEST_F(LearnerGpuTest, PackedSequencesHaveTheGradientsOfFp32) {
  EXPECT_LT(gradient_error({300, 1, 77, 512}), 0.05);
}

TEST_F(LearnerGpuTest, LayerInputsInHostMemoryGiveTheSameGradients) {
  for (const auto& lengths : {std::vector<int64_t>{9'000}, {300, 1, 77, 5'000}}) {
    const auto texts = random_texts(lengths);
    for (const auto type : {std::optional<at::ScalarType>{}, std::optional{at::kBFloat16}}) {
      const Transformer kept = trained(long_config(), {.type = type, .recompute = true}, texts);
      const Transformer stashed =
          trained(long_config(), {.type = type, .recompute = true, .stash = true}, texts);
      // Backward kernels of attention add in any order.
      EXPECT_LT(gradient_distance(kept, stashed), type ? 0.01 : 1e-4);
    }
  }
}

/// The most bytes that a gradient pass over 16,000 tokens takes.
int64_t peak_of_pass(const ModelConfig& config, bool stash) {
  const auto texts = random_texts({16'000});
  const at::Device gpu{at::kCUDA, 0};
  (void)trained(config, {.type = at::kBFloat16, .stash = stash}, texts);  // plans its kernels
  reset_peak_bytes(gpu);
  (void)trained(config, {.type = at::kBFloat16, .stash = stash}, texts);
  return peak_bytes(gpu);
}

TEST_F(LearnerGpuTest, LayerInputsInHostMemoryLeaveTheGpu) {
  ModelConfig config = long_config();
  config.hidden = 256;
  config.heads = config.kv_heads = 4;
  config.layers = 16;
  // Of 16 layers' inputs and attention outputs, (T, 256) bf16 each, at most 3 layers' are on the
  // GPU.
  const int64_t one = int64_t{16'000} * 2 * 256 * 2;
  EXPECT_LT(peak_of_pass(config, true), peak_of_pass(config, false) - 12 * one);
}

/// Hidden states of a sequence in three pieces; its cache moves to host memory after the first.
at::Tensor in_pieces(const Transformer& model, bool on_host) {
  SequenceCache cache{model.config(), model.computed().embed.options()};
  const std::array<SequenceCache*, 1> caches{&cache};
  std::vector<at::Tensor> parts;
  for (const auto& text : random_texts({3'000, 500, 2'100})) {
    parts.push_back(model.forward(pack_sequences(std::array{text}), caches));
    if (on_host) cache.move_to_host();
  }
  EXPECT_EQ(cache.bytes() == 0, on_host);
  return at::cat(parts, 0);
}

TEST_F(LearnerGpuTest, APrefixInHostMemoryGivesTheSameNumbers) {
  const at::NoGradGuard no_grad;
  RandomStream random{9, "long model"};
  const ModelWeights weights =
      make_weights(long_config(), random).converted(at::TensorOptions(at::kCUDA).dtype(at::kFloat));
  const Transformer model{long_config(), weights, {.type = at::kBFloat16}};
  const at::Tensor stays = in_pieces(model, false);
  for (int i = 0; i < 5; ++i) {  // a race would not show each time
    const at::Tensor moved = in_pieces(model, true);
    EXPECT_EQ((stays - moved).abs().max().item<double>(), 0.0) << "the same kernels, same inputs";
  }
}

TEST_F(LearnerGpuTest, AnOffloadedTrajectoryTrainsLikeAKeptOne) {
  TrainerSetup s = setup(ComputeDevice::cuda, ComputePrecision::fp32);
  s.learner.step = {.trajectories = 1};
  Trainer kept{s, tiny_config(), tiny_weights(1)};
  s.learner.max_held_bytes = 1;
  s.learner.offload = {"kept_prefixes", "layer_inputs"};
  Trainer offloaded{s, tiny_config(), tiny_weights(1)};
  const Trajectory played = TinyWorld{5}.play(
      {{}, std::make_shared<const ModelWeights>(on_cpu(*kept.weights().weights))});
  const Progress expected = feed(kept, played);
  const Progress got = feed(offloaded, played);
  EXPECT_EQ(offloaded.status().offloaded_prefixes, 1);
  ASSERT_TRUE(expected.step && got.step);
  EXPECT_NEAR(got.step->policy_loss, expected.step->policy_loss, 1e-5);
  EXPECT_LT(distance(on_cpu(*kept.weights().weights), on_cpu(*offloaded.weights().weights)), 1e-5);
  EXPECT_GT(got.step->memory_peak_bytes, 0);
}

using std::chrono::milliseconds;

TrainerSetup setup_of(int64_t gpus, ComputePrecision precision) {
  TrainerSetup s;
  s.seed = 3;
  s.learner.device = ComputeDevice::cuda;
  s.learner.precision = precision;
  s.learner.gpus = gpus;
  s.learner.rank_timeout = std::chrono::minutes{2};
  s.learner.forwards = ForwardMode::at_use;
  s.learner.step = {.trajectories = 8, .minibatches = 2, .epochs = 2};
  s.learner.pack_tokens = 24;
  s.learner.optimizer.learning_rate = 3e-3;
  s.learner.optimizer.critic_learning_rate = 1e-2;
  // With the usual epsilon, AdamW turns rounding differences of tiny gradients into whole steps.
  s.learner.optimizer.epsilon = 1e-3;
  s.learner.critic.kind = CriticKind::separate;
  s.learner.loss.kl = 0.01;
  return s;
}

ModelWeights on_host(const Trainer& trainer) {
  return trainer.weights().weights->converted(at::TensorOptions(at::kCPU).dtype(at::kFloat));
}

class RanksGpuTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!at::hasCUDA() || at::getNumGPUs() < 2) GTEST_SKIP() << "LibTorch finds no two GPUs";
    if (!nccl_is_built()) GTEST_SKIP() << "built without NCCL's header";
  }

  static std::unique_ptr<RankGroup> two_gpus(milliseconds timeout = milliseconds{120'000}) {
    return make_rank_group({.devices = {at::Device(at::kCUDA, 0), at::Device(at::kCUDA, 1)},
                            .threads = 1,
                            .timeout = timeout,
                            .grace = milliseconds{60'000}});
  }
};

TEST_F(RanksGpuTest, ReduceScatterSumsAndAllGatherCompletes) {
  const auto group = two_gpus();
  for (int round = 0; round < 20; ++round) {
    std::array<at::Tensor, 2> all;
    group->run([&](size_t rank, Collective& collective) {
      const at::Device gpu{at::kCUDA, static_cast<c10::DeviceIndex>(rank)};
      const at::Tensor start = at::arange(1000, at::TensorOptions(gpu).dtype(at::kFloat));
      all[rank] = start + static_cast<double>(rank);
      at::Tensor own = all[rank].narrow(0, static_cast<int64_t>(rank) * 500, 500);
      collective.reduce_scatter(all[rank], own);
      collective.all_gather(own, all[rank]);
      all[rank] = all[rank].cpu();
    });
    for (const at::Tensor& sum : all) {
      EXPECT_TRUE(sum.equal(at::arange(1000, at::kFloat) * 2 + 1));
    }
  }
}

TEST_F(RanksGpuTest, RankThatFailsReleasesTheOtherFromItsCollective) {
  const auto group = two_gpus();
  const auto start = SteadyClock::now();
  try {
    group->run([](size_t rank, Collective& collective) {
      if (rank == 1) throw std::runtime_error("scripted");
      const at::Tensor all = at::zeros({1000}, at::TensorOptions(at::Device(at::kCUDA, 0)));
      at::Tensor own = all.narrow(0, 0, 500);
      collective.reduce_scatter(all, own);
      (void)own.cpu();
    });
    ADD_FAILURE() << "no failure";
  } catch (const std::runtime_error& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("rank 1 of 2 (cuda:1): scripted"));
  }
  EXPECT_LT(SteadyClock::now() - start, std::chrono::seconds{60});
}

TEST_F(RanksGpuTest, TwoGpusTrainLikeOne) {
  Trainer one = trainer_of(setup_of(1, ComputePrecision::fp32));
  Trainer two = trainer_of(setup_of(2, ComputePrecision::fp32));
  TinyWorld world{5};
  for (int step = 0; step < 3; ++step) {
    const std::vector<Trajectory> played = world.play(one.weights(), 8);
    const StepReport left = train(one, played);
    const StepReport right = train(two, played);
    EXPECT_NEAR(left.policy_loss, right.policy_loss, 1e-4);
    EXPECT_NEAR(left.value_loss, right.value_loss, 1e-4);
    EXPECT_NEAR(left.gradient_norm, right.gradient_norm, 1e-4);
    EXPECT_LT(distance(on_host(one), on_host(two)), 1e-5) << "step " << step;
  }
}

TEST_F(RanksGpuTest, CheckpointOfTwoGpusContinuesOnOne) {
  const test_support::TemporaryFolder folder;
  Trainer two = trainer_of(setup_of(2, ComputePrecision::bf16));
  TinyWorld world{5};
  train(two, world.play(two.weights(), 8));
  ASSERT_TRUE(two.snapshot()->save(folder.path()));
  Trainer one = trainer_of(setup_of(1, ComputePrecision::bf16));
  ASSERT_TRUE(one.restore(folder.path(), 0));
  EXPECT_EQ(distance(on_host(one), on_host(two)), 0.0);
  const std::vector<Trajectory> played = world.play(two.weights(), 8);
  EXPECT_NEAR(train(one, played).policy_loss, train(two, played).policy_loss, 1e-3);
}

class LoraGpuTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!at::hasCUDA()) GTEST_SKIP() << "LibTorch finds no GPU";
  }

  static TrainerSetup setup(ComputePrecision precision, int64_t gpus = 1) {
    TrainerSetup s = setup_of(gpus, precision);
    s.learner.lora = {.rank = 4, .alpha = 8};
    return s;
  }
};

TEST_F(LoraGpuTest, StepInFp32EqualsTheStepOnACpu) {
  TrainerSetup on_cpu = setup(ComputePrecision::fp32);
  on_cpu.learner.device = ComputeDevice::cpu;
  Trainer cpu = trainer_of(on_cpu);
  Trainer gpu = trainer_of(setup(ComputePrecision::fp32));
  TinyWorld world{5};
  for (int step = 0; step < 2; ++step) {
    const std::vector<Trajectory> played = world.play(cpu.weights(), 8);
    EXPECT_NEAR(train(cpu, played).policy_loss, train(gpu, played).policy_loss, 1e-4);
  }
  EXPECT_LT(distance(on_host(cpu), on_host(gpu)), 1e-4);
}

TEST_F(LoraGpuTest, RewardRisesInBf16AndResumeIsExact) {
  TrainerSetup s = setup(ComputePrecision::bf16);
  s.learner.step = {.trajectories = 32, .epochs = 2};
  s.learner.optimizer.epsilon = 1e-8;
  s.learner.optimizer.learning_rate = 1e-2;
  s.learner.advantage.lambda = 1.0;
  s.learner.critic.kind = CriticKind::shared;
  s.learner.loss.kl = 0;
  Trainer first = trainer_of(s);
  EXPECT_EQ(first.weights().weights->layers[0].qkv.scalar_type(), at::kBFloat16);
  const std::vector<double> curve = learning_curve(first, 20, /*lag=*/0);
  EXPECT_GT(curve[18] + curve[19] - curve[0] - curve[1], 1.0) << testing::PrintToString(curve);
  EXPECT_TRUE(on_host(first).embed.equal(tiny_weights(1).embed.to(at::kBFloat16).to(at::kFloat)));
  const test_support::TemporaryFolder folder;
  ASSERT_TRUE(first.snapshot()->save(folder.path()));
  Trainer second = trainer_of(s);
  const auto restored = second.restore(folder.path(), 0);
  ASSERT_TRUE(restored) << restored.error().message;
  EXPECT_EQ(distance(on_host(first), on_host(second)), 0.0);
}

TEST_F(LoraGpuTest, TwoGpusTrainAdaptersLikeOne) {
  if (at::getNumGPUs() < 2 || !nccl_is_built()) GTEST_SKIP() << "LibTorch finds no two GPUs";
  Trainer one = trainer_of(setup(ComputePrecision::fp32));
  Trainer two = trainer_of(setup(ComputePrecision::fp32, 2));
  const std::vector<Trajectory> played = TinyWorld{5}.play(one.weights(), 8);
  EXPECT_NEAR(train(one, played).policy_loss, train(two, played).policy_loss, 1e-4);
  EXPECT_LT(distance(on_host(one), on_host(two)), 1e-5);
}

}  // namespace

}  // namespace warpsmith::policy
