// SPDX-License-Identifier: Apache-2.0
// A tiny transformer, and a task that it learns in seconds: answer each prompt with the token that
// belongs to it.
#pragma once

#include <optional>
#include <vector>

#include "policy/learn/trainer.hpp"
#include "policy/model/transformer.hpp"
#include "runtime/random_stream.hpp"

namespace warpsmith::policy {

ModelConfig tiny_config();
ModelWeights tiny_weights(uint64_t seed, at::ScalarType dtype = at::kFloat);

/// Samples trajectories from published weights, one token at a time.
class TinyWorld {
 public:
  explicit TinyWorld(uint64_t seed) : random_(seed, "world") {}

  static constexpr int32_t answers = 4;       // tokens 0 to 3
  static constexpr int32_t first_prompt = 8;  // prompt token of answer 0

  /// Two turns: prompt and two sampled tokens; a masked reply and two more. Reward: +0.25 for every
  /// sampled token that is the answer, −0.25 for every other.
  std::vector<Trajectory> play(const WeightSnapshot& snapshot, size_t count);
  Trajectory play(const WeightSnapshot& snapshot) { return play(snapshot, 1).front(); }

 private:
  struct Sampled {
    int32_t token;
    float log_prob;
  };
  struct Game {
    Trajectory trajectory;
    std::vector<int32_t> text;
    int32_t answer = 0;
  };
  Sampled draw(const double* log_probs, int64_t vocab);
  std::vector<Sampled> sample(const Transformer& model,
                              const std::vector<std::vector<int32_t>>& texts);
  /// Adds a token to the game; a token with a log-probability is sampled.
  void say(Game& game, int32_t token, std::optional<float> log_prob);
  void play_turn(const Transformer& model, std::vector<Game>& games, uint32_t turn);

  RandomStream random_;
  PolicyVersion version_;
  TrajectoryId next_ = 1;
};

/// A trainer of the tiny model.
Trainer trainer_of(const TrainerSetup& setup);

/// Trains on those trajectories; the report of the step that they complete.
StepReport train(Trainer& trainer, const std::vector<Trajectory>& played);

/// Plays and trains; returns the mean reward of each step. The weights that sample are `lag` steps
/// old.
std::vector<double> learning_curve(Trainer& trainer, int steps, size_t lag);

/// Closes the trajectory and advances until no work is left. Throws on an error.
Progress finish(Trainer& trainer, TrajectoryId id, const Outcome& outcome);

/// Observes all segments, then calls `finish`. Throws on an error.
Progress feed(Trainer& trainer, const Trajectory& trajectory);

/// The largest absolute difference over all parameters.
double distance(const ModelWeights& a, const ModelWeights& b);

}  // namespace warpsmith::policy
