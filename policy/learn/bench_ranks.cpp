// SPDX-License-Identifier: Apache-2.0
#include "policy/learn/bench_ranks.hpp"

#include <algorithm>
#include <cmath>

#include "policy/learn/bench_support.hpp"
#include "policy/learn/device_memory.hpp"
#include "policy/learn/placement.hpp"
#include "runtime/random_stream.hpp"

namespace warpsmith::policy {
namespace {

Segment whole_trajectory(TrajectoryId id, int64_t tokens, const Trainer& trainer,
                         RandomStream& random) {
  const auto vocab = static_cast<uint64_t>(trainer.model_config().vocab);
  const auto log_prob = -static_cast<float>(std::log(static_cast<double>(vocab)));
  Segment s;
  s.trajectory = id;
  for (int64_t i = 0; i < tokens; ++i) {
    const bool sampled = i >= tokens / 4;
    s.tokens.push_back(static_cast<int32_t>(random.below(vocab)));
    s.action_mask.push_back(sampled ? 1 : 0);
    s.log_probs.push_back(sampled ? log_prob : 0.0F);
    s.versions.push_back(trainer.version());
  }
  return s;
}

StepReport train_one_step(Trainer& trainer, const RanksShape& shape, RandomStream& random) {
  for (int64_t i = 0; i < shape.trajectories; ++i) {
    const auto id = static_cast<TrajectoryId>(i + 1);
    must(trainer.observe(whole_trajectory(id, shape.tokens, trainer, random)));
    must(trainer.close(id, {.reward = random.uniform(), .verdict = VerdictClass::passed}));
  }
  Progress done;
  while (!done.step) done = trainer.advance();
  return std::move(*done.step);
}

void wait_for_all(const std::vector<at::Device>& devices) {
  for (const at::Device device : devices) wait_for(device);
}

}  // namespace

LearnerConfig ranks_config(LearnerConfig config, const RanksShape& shape) {
  config.forwards = ForwardMode::at_use;
  config.step = {.trajectories = shape.trajectories};
  config.pack_tokens = shape.tokens;
  return config;
}

RanksFigures bench_ranks(Trainer& trainer, const LearnerConfig& config, const RanksShape& shape,
                         uint64_t seed) {
  RandomStream random{seed, "bench.ranks"};
  const std::vector<at::Device> devices = devices_of(config);
  for (const at::Device device : devices) reset_peak_bytes(device);
  RanksFigures figures;
  const auto add = [&](const StepReport& report) {
    figures.policy_losses.push_back(report.policy_loss);
    figures.value_losses.push_back(report.value_loss);
    return static_cast<double>(report.forward_tokens);
  };
  add(train_one_step(trainer, shape, random));
  wait_for_all(devices);
  const auto start = SteadyClock::now();
  double tokens = 0;
  for (int64_t i = 0; i < shape.steps; ++i) tokens += add(train_one_step(trainer, shape, random));
  wait_for_all(devices);
  figures.seconds = seconds_since(start);
  figures.tokens_per_s = tokens / figures.seconds;
  for (const at::Device device : devices) {
    figures.peak_bytes = std::max(figures.peak_bytes, peak_bytes(device));
  }
  return figures;
}

}  // namespace warpsmith::policy
