// SPDX-License-Identifier: Apache-2.0
#include "policy/learn/bench_learn.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/ops/full_like.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/randn_like.h>
#include <ATen/ops/zeros_like.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <stdexcept>

#include "policy/learn/losses.hpp"
#include "policy/learn/placement.hpp"
#include "policy/model/libtorch_runtime.hpp"
#include "policy/model/log_probs.hpp"
#include "policy/model/transformer.hpp"
#include "runtime/clock.hpp"
#include "runtime/random_stream.hpp"
#include "runtime/result.hpp"

namespace warpsmith::policy {
namespace {

double seconds_since(SteadyClock::time_point start) {
  return std::chrono::duration<double>(SteadyClock::now() - start).count();
}

/// Throws std::runtime_error if a call that a measurement needs fails.
void require(const Result<void>& done) {
  if (!done) throw std::runtime_error("bench: " + done.error().message);
}

/// The log-probability of a token under a uniform policy.
float uniform_log_prob(int64_t vocab) {
  return -static_cast<float>(std::log(static_cast<double>(vocab)));
}

/// Adds a random token; a sampled one has the log-probability of a uniform policy.
void add_token(Segment& s, bool sampled, const Trainer& trainer, RandomStream& random) {
  const int64_t vocab = trainer.model_config().vocab;
  s.tokens.push_back(static_cast<int32_t>(random.below(static_cast<uint64_t>(vocab))));
  s.action_mask.push_back(sampled ? 1 : 0);
  s.log_probs.push_back(sampled ? uniform_log_prob(vocab) : 0.0F);
  s.versions.push_back(trainer.version());
}

Segment random_turn(const LearnBenchOptions& o, TrajectoryId id, int64_t turn,
                    const Trainer& trainer, RandomStream& random) {
  Segment s;
  s.trajectory = id;
  s.number = static_cast<uint32_t>(turn);
  const auto add = [&](int64_t count, bool sampled) {
    for (int64_t i = 0; i < count; ++i) add_token(s, sampled, trainer, random);
  };
  if (turn == 0) add(o.prompt_tokens, false);
  add(o.action_tokens, true);
  add(o.result_tokens, false);
  return s;
}

struct Sums {
  double observing = 0;
  int64_t observed = 0;
  int64_t passes = 0;
};

void train_step(Trainer& trainer, const LearnBenchOptions& o, RandomStream& random, Sums& sums) {
  static constexpr TrajectoryId base = 1;
  for (int64_t i = 0; i < o.trajectories; ++i) {
    const TrajectoryId id = base + static_cast<TrajectoryId>(i);
    for (int64_t turn = 0; turn < o.turns; ++turn) {
      const Segment s = random_turn(o, id, turn, trainer, random);
      const auto start = SteadyClock::now();
      require(trainer.observe(s));
      sums.observing += seconds_since(start);
      sums.observed += static_cast<int64_t>(s.size());
    }
    require(trainer.close(id, {.reward = random.uniform(), .verdict = VerdictClass::passed}));
    while (trainer.has_work()) {
      const Progress done = trainer.advance();
      if (done.step) sums.passes += done.step->forward_tokens;
    }
  }
}

std::vector<int32_t> random_tokens(int64_t count, int64_t vocab, RandomStream& random) {
  std::vector<int32_t> tokens(static_cast<size_t>(count));
  for (int32_t& token : tokens) {
    token = static_cast<int32_t>(random.below(static_cast<uint64_t>(vocab)));
  }
  return tokens;
}

at::Tensor mean_policy_loss(const TokenLogProbs& now, int64_t vocab) {
  const at::Tensor like = now.log_probs.detach();
  PolicyTokens tokens{.log_prob = now.log_probs, .entropy = now.entropy};
  tokens.behaviour = at::full_like(like, uniform_log_prob(vocab));
  tokens.proximal = like;
  tokens.advantage = at::randn_like(like);
  tokens.trainable = at::ones_like(like);
  tokens.positive = at::zeros_like(like);
  tokens.trajectory = at::zeros_like(like, at::kLong);
  return policy_loss(LossConfig{}, tokens).per_token.mean();
}

void clear_gradients(const Transformer& model) {
  for (auto& [name, tensor] : model.weights().parameters()) tensor.mutable_grad() = at::Tensor();
}

/// Turn `number` of a trajectory.
Segment turn_of(const UpdateShape& shape, int64_t number, const Trainer& trainer,
                RandomStream& random) {
  const int64_t length = shape.tokens / shape.turns;
  Segment s;
  s.trajectory = 1;
  s.number = static_cast<uint32_t>(number);
  for (int64_t i = 0; i < length; ++i) {
    add_token(s, i < length * 3 / 4 && (number > 0 || i > 0), trainer, random);
  }
  return s;
}

Segment whole_trajectory(TrajectoryId id, int64_t tokens, const Trainer& trainer,
                         RandomStream& random) {
  Segment s;
  s.trajectory = id;
  for (int64_t i = 0; i < tokens; ++i) add_token(s, i >= tokens / 4, trainer, random);
  return s;
}

StepReport train_one_step(Trainer& trainer, const RanksShape& shape, RandomStream& random) {
  for (int64_t i = 0; i < shape.trajectories; ++i) {
    const auto id = static_cast<TrajectoryId>(i + 1);
    require(trainer.observe(whole_trajectory(id, shape.tokens, trainer, random)));
    require(trainer.close(id, {.reward = random.uniform(), .verdict = VerdictClass::passed}));
  }
  Progress done;
  while (!done.step) done = trainer.advance();
  return std::move(*done.step);
}

void wait_for_all(const std::vector<at::Device>& devices) {
  for (const at::Device device : devices) wait_for(device);
}

}  // namespace

LearnBench bench_learn(Trainer& trainer, const LearnBenchOptions& options, uint64_t seed) {
  RandomStream random{seed, "bench.learn"};
  Sums warm_up;
  train_step(trainer, options, random, warm_up);
  Sums sums;
  const auto start = SteadyClock::now();
  for (int64_t i = 0; i < options.steps; ++i) train_step(trainer, options, random, sums);
  LearnBench out;
  out.seconds = seconds_since(start);
  out.observe_seconds = sums.observing;
  out.parameters = trainer.model_config().parameter_count();
  out.trained_tokens_per_s = static_cast<double>(sums.observed) / out.seconds;
  out.passes_tokens_per_s = static_cast<double>(sums.passes) / out.seconds;
  const double streamed = trainer.streams() ? static_cast<double>(sums.observed) : 0.0;
  const double work = 6.0 * static_cast<double>(sums.passes) + 2.0 * streamed;
  out.gflops = static_cast<double>(out.parameters) * work / out.seconds * 1e-9;
  return out;
}

PassFigures bench_pass(Transformer& model, int64_t tokens, uint64_t seed) {
  RandomStream random{seed, "bench.pass"};
  const int64_t vocab = model.config().vocab;
  const std::vector<int32_t> text = random_tokens(tokens, vocab, random);
  std::vector<uint8_t> mask(text.size(), 1);
  mask.front() = 0;
  const std::array<MaskedTokens, 1> sequences{MaskedTokens{text, mask}};
  const at::Device device = model.computed().embed.device();
  clear_gradients(model);
  wait_for(device);
  reset_peak_bytes(device);
  const auto start = SteadyClock::now();
  const ActionPack plan = plan_actions(sequences);
  const at::Tensor hidden = model.forward(plan.batch);
  const at::Tensor rows = hidden.index_select(0, plan.rows.to(device));
  mean_policy_loss(token_log_probs(rows, model.head(), plan.targets.to(device)), vocab).backward();
  wait_for(device);
  PassFigures figures{seconds_since(start), peak_bytes(device)};
  clear_gradients(model);
  return figures;
}

UpdateFigures bench_update(Trainer& trainer, const UpdateShape& shape, uint64_t seed) {
  RandomStream random{seed, "bench.update"};
  const at::Device device = trainer.weights().weights->embed.device();
  reset_peak_bytes(device);
  UpdateFigures figures;
  auto start = SteadyClock::now();
  for (int64_t turn = 0; turn + 1 < shape.turns; ++turn) {
    require(trainer.observe(turn_of(shape, turn, trainer, random)));
  }
  wait_for(device);
  figures.streaming_seconds = seconds_since(start);
  const Segment last = turn_of(shape, shape.turns - 1, trainer, random);
  start = SteadyClock::now();
  require(trainer.observe(last));
  require(trainer.close(1, {.reward = 1.0, .verdict = VerdictClass::passed}));
  wait_for(device);
  figures.gap_seconds = seconds_since(start);
  start = SteadyClock::now();
  while (trainer.has_work()) {
    const Progress progress = trainer.advance();
    if (progress.step) figures.peak_bytes = progress.step->memory_peak_bytes;
  }
  wait_for(device);
  figures.gradient_seconds = seconds_since(start);
  return figures;
}

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
