// SPDX-License-Identifier: Apache-2.0
#include "policy/learn/bench_long.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/ops/full_like.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/randn_like.h>
#include <ATen/ops/zeros_like.h>

#include <array>
#include <cmath>

#include "policy/learn/action_pack.hpp"
#include "policy/learn/bench_support.hpp"
#include "policy/learn/device_memory.hpp"
#include "policy/learn/losses.hpp"
#include "policy/learn/placement.hpp"
#include "policy/model/log_probs.hpp"
#include "runtime/random_stream.hpp"

namespace warpsmith::policy {
namespace {

std::vector<int32_t> random_tokens(int64_t count, int64_t vocab, RandomStream& random) {
  std::vector<int32_t> tokens(static_cast<size_t>(count));
  for (int32_t& token : tokens) {
    token = static_cast<int32_t>(random.below(static_cast<uint64_t>(vocab)));
  }
  return tokens;
}

/// The log-probability of a token under a uniform policy.
float uniform_log_prob(int64_t vocab) {
  return -static_cast<float>(std::log(static_cast<double>(vocab)));
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
  const int64_t vocab = trainer.model_config().vocab;
  Segment s;
  s.trajectory = 1;
  s.number = static_cast<uint32_t>(number);
  s.tokens = random_tokens(length, vocab, random);
  for (int64_t i = 0; i < length; ++i) {
    const bool sampled = i < length * 3 / 4 && (number > 0 || i > 0);
    s.action_mask.push_back(sampled ? 1 : 0);
    s.log_probs.push_back(sampled ? uniform_log_prob(vocab) : 0.0F);
    s.versions.push_back(trainer.version());
  }
  return s;
}

}  // namespace

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
    must(trainer.observe(turn_of(shape, turn, trainer, random)));
  }
  wait_for(device);
  figures.streaming_seconds = seconds_since(start);
  const Segment last = turn_of(shape, shape.turns - 1, trainer, random);
  start = SteadyClock::now();
  must(trainer.observe(last));
  must(trainer.close(1, {.reward = 1.0, .verdict = VerdictClass::passed}));
  wait_for(device);
  figures.gap_seconds = seconds_since(start);
  start = SteadyClock::now();
  while (trainer.has_work()) {
    const Progress progress = trainer.advance();
    if (progress.step) figures.peak_bytes = progress.step->peak_bytes;
  }
  wait_for(device);
  figures.gradient_seconds = seconds_since(start);
  return figures;
}

}  // namespace warpsmith::policy
