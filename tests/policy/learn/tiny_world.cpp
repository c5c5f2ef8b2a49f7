// SPDX-License-Identifier: Apache-2.0
#include "tests/policy/learn/tiny_world.hpp"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/log_softmax.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <deque>
#include <stdexcept>

namespace warpsmith::policy {
namespace {

void require(const Result<void>& done) {
  if (!done) throw std::runtime_error(done.error().message);
}

}  // namespace

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

TinyWorld::Sampled TinyWorld::draw(const double* log_probs, int64_t vocab) {
  double left = random_.uniform();
  int32_t token = 0;
  for (; token + 1 < vocab; ++token) {
    left -= std::exp(log_probs[token]);
    if (left < 0) break;
  }
  return {token, static_cast<float>(log_probs[token])};
}

std::vector<TinyWorld::Sampled> TinyWorld::sample(const Transformer& model,
                                                  const std::vector<std::vector<int32_t>>& texts) {
  const PackedBatch batch = pack_sequences(texts);
  std::vector<int64_t> ends;
  int64_t end = 0;
  for (const int64_t length : batch.lengths) ends.push_back((end += length) - 1);
  const at::Tensor all = model.forward(batch);
  const at::Tensor hidden = all.index_select(0, index_tensor(ends).to(all.device()));
  const at::Tensor rows =
      at::log_softmax(model.logits(hidden), -1).to(at::kCPU, at::kDouble).contiguous();
  const int64_t vocab = model.config().vocab;
  std::vector<Sampled> drawn;
  for (size_t i = 0; i < texts.size(); ++i) {
    drawn.push_back(draw(rows.const_data_ptr<double>() + static_cast<int64_t>(i) * vocab, vocab));
  }
  return drawn;
}

void TinyWorld::say(Game& game, int32_t token, std::optional<float> log_prob) {
  Segment& s = game.trajectory.segments.back();
  game.text.push_back(token);
  s.tokens.push_back(token);
  s.action_mask.push_back(log_prob ? 1 : 0);
  s.log_probs.push_back(log_prob.value_or(0));
  s.versions.push_back(log_prob ? version_ : PolicyVersion{});
  if (log_prob) game.trajectory.outcome.reward += token == game.answer ? 0.25 : -0.25;
}

void TinyWorld::play_turn(const Transformer& model, std::vector<Game>& games, uint32_t turn) {
  for (Game& game : games) {
    game.trajectory.segments.push_back({.trajectory = game.trajectory.id, .number = turn});
    if (turn == 0) say(game, first_prompt + game.answer, std::nullopt);
  }
  for (int i = 0; i < 2; ++i) {
    std::vector<std::vector<int32_t>> texts;
    for (const Game& game : games) texts.push_back(game.text);
    const std::vector<Sampled> said = sample(model, texts);
    for (size_t k = 0; k < games.size(); ++k) say(games[k], said[k].token, said[k].log_prob);
  }
  for (Game& game : games) say(game, 15, std::nullopt);  // a tool result
}

std::vector<Trajectory> TinyWorld::play(const WeightSnapshot& snapshot, size_t count) {
  const at::NoGradGuard no_grad;
  const Transformer model{tiny_config(), *snapshot.weights};
  version_ = snapshot.version;
  std::vector<Game> games(count);
  for (Game& game : games) {
    game.trajectory.id = next_++;
    game.answer = static_cast<int32_t>(random_.below(answers));
  }
  for (uint32_t turn = 0; turn < 2; ++turn) play_turn(model, games, turn);
  std::vector<Trajectory> out;
  for (Game& game : games) {
    game.trajectory.outcome.verdict =
        game.trajectory.outcome.reward > 0 ? VerdictClass::passed : VerdictClass::wrong;
    out.push_back(std::move(game.trajectory));
  }
  return out;
}

Progress finish(Trainer& trainer, TrajectoryId id, const Outcome& outcome) {
  require(trainer.close(id, outcome));
  Progress all;
  while (trainer.has_work()) {
    Progress one = trainer.advance();
    if (one.step) all.step = std::move(one.step);
    if (one.halt) all.halt = std::move(one.halt);
    all.dropped.insert(all.dropped.end(), one.dropped.begin(), one.dropped.end());
  }
  return all;
}

Progress feed(Trainer& trainer, const Trajectory& trajectory) {
  for (const Segment& segment : trajectory.segments) {
    require(trainer.observe(segment));
  }
  return finish(trainer, trajectory.id, trajectory.outcome);
}

Trainer trainer_of(const TrainerSetup& setup) {
  return {setup, tiny_config(), tiny_weights(1)};
}

StepReport train(Trainer& trainer, const std::vector<Trajectory>& played) {
  for (const Trajectory& one : played) {
    for (const Segment& segment : one.segments) EXPECT_TRUE(trainer.observe(segment));
    EXPECT_TRUE(trainer.close(one.id, one.outcome));
  }
  std::optional<StepReport> report;
  while (trainer.has_work()) {
    Progress progress = trainer.advance();
    if (progress.step) report = std::move(progress.step);
  }
  return report.value();
}

std::vector<double> learning_curve(Trainer& trainer, int steps, size_t lag) {
  constexpr size_t at_once = 16;
  TinyWorld world{7};
  std::deque<WeightSnapshot> published{trainer.weights()};
  std::vector<double> curve;
  while (curve.size() < static_cast<size_t>(steps)) {
    for (const Trajectory& played : world.play(published.front(), at_once)) {
      for (const Segment& segment : played.segments) require(trainer.observe(segment));
      require(trainer.close(played.id, played.outcome));
    }
    while (trainer.has_work()) {
      const Progress progress = trainer.advance();
      if (!progress.step) continue;
      curve.push_back(progress.step->outcomes.reward);
      published.push_back(trainer.weights());
      while (published.size() > lag + 1) published.pop_front();
    }
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
