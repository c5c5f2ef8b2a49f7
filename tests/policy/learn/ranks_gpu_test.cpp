// SPDX-License-Identifier: Apache-2.0
// Ranks on GPUs through NCCL, and adapters on one GPU.
#include <ATen/Context.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "policy/learn/ranks/nccl_collective.hpp"
#include "policy/learn/ranks/threaded_group.hpp"
#include "policy/learn/trainer.hpp"
#include "runtime/clock.hpp"
#include "tests/policy/learn/tiny_world.hpp"
#include "tests/policy/learn/train_step.hpp"
#include "tests/support/temporary_folder.hpp"

namespace warpsmith::policy {
namespace {

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

TEST_F(LoraGpuTest, StepInFp32EqualsTheCpus) {
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
