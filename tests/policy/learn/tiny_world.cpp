// SPDX-License-Identifier: Apache-2.0
#include "tests/policy/learn/tiny_world.hpp"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/log_softmax.h>

#include <array>
#include <cmath>
#include <stdexcept>

namespace warpsmith::policy {

ModelConfig tiny_config() {
  ModelConfig c;
  c.vocab = 16;
  c.hidden = 32;
  c.layers = 2;
  c.heads = 4;
  c.kv_heads = 2;
  c.head_dim = 8;
  c.ffn = 64;
  c.max_positions = 256;
  c.tied_embeddings = false;
  c.init_std = 0.1;
  return c;
}

ModelWeights tiny_weights(uint64_t seed, at::ScalarType dtype) {
  RandomStream random{seed, "tiny_weights"};
  return make_weights(tiny_config(), random, dtype);
}

TinyWorld::Sampled TinyWorld::sample(const Transformer& model, const std::vector<int32_t>& tokens) {
  const at::Tensor hidden = model.forward(pack_sequences(std::array{tokens}));
  const at::Tensor last = model.logits(hidden.narrow(0, hidden.size(0) - 1, 1));
  const at::Tensor log_probs = at::log_softmax(last, -1).to(at::kDouble).contiguous();
  const double* p = log_probs.const_data_ptr<double>();
  double left = random_.uniform();
  int32_t token = 0;
  for (; token + 1 < model.config().vocab; ++token) {
    left -= std::exp(p[token]);
    if (left < 0) break;
  }
  return {token, static_cast<float>(p[token])};
}

Trajectory TinyWorld::play(const WeightSnapshot& snapshot) {
  const at::NoGradGuard no_grad;
  const Transformer model{tiny_config(), *snapshot.weights};
  const auto answer = static_cast<int32_t>(random_.below(answers));
  Trajectory out{.id = next_++};
  std::vector<int32_t> tokens;
  double reward = 0;
  for (uint32_t turn = 0; turn < 2; ++turn) {
    Segment s{.trajectory = out.id, .number = turn};
    const auto add = [&](int32_t token, bool sampled, float log_prob) {
      tokens.push_back(token);
      s.tokens.push_back(token);
      s.action_mask.push_back(sampled ? 1 : 0);
      s.log_probs.push_back(log_prob);
      s.versions.push_back(sampled ? snapshot.version : PolicyVersion{});
    };
    if (turn == 0) add(first_prompt + answer, false, 0);
    for (int i = 0; i < 2; ++i) {
      const Sampled said = sample(model, tokens);
      add(said.token, true, said.log_prob);
      reward += said.token == answer ? 0.25 : -0.25;
    }
    add(15, false, 0);  // what a tool answered
    out.segments.push_back(std::move(s));
  }
  out.outcome = {.reward = reward, .verdict = reward > 0 ? "passed" : "wrong", .turns = 2};
  return out;
}

Progress feed(Trainer& trainer, const Trajectory& trajectory) {
  for (const Segment& segment : trajectory.segments) {
    if (auto taken = trainer.observe(segment); !taken) {
      throw std::runtime_error(taken.error().message);
    }
  }
  auto finished = trainer.finish(trajectory.id, trajectory.outcome);
  if (!finished) throw std::runtime_error(finished.error().message);
  return *finished;
}

std::vector<double> learning_curve(Trainer& trainer, int steps, size_t lag) {
  TinyWorld world{7};
  std::deque<WeightSnapshot> published{trainer.weights()};
  std::vector<double> curve;
  while (curve.size() < static_cast<size_t>(steps)) {
    const Progress progress = feed(trainer, world.play(published.front()));
    if (!progress.step) continue;
    curve.push_back(progress.step->outcomes.reward_mean);
    published.push_back(trainer.weights());
    while (published.size() > lag + 1) published.pop_front();
  }
  return curve;
}

double distance(const ModelWeights& a, const ModelWeights& b) {
  double greatest = 0;
  const auto left = a.parameters();
  const auto right = b.parameters();
  for (size_t i = 0; i < left.size(); ++i) {
    const at::Tensor gap = left[i].second.detach().sub(right[i].second.detach()).abs().max();
    greatest = std::max(greatest, gap.item<double>());
  }
  return greatest;
}

}  // namespace warpsmith::policy
