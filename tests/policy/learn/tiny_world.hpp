// SPDX-License-Identifier: Apache-2.0
// A tiny transformer, and a task that it can learn in seconds: after a prompt, say the token that
// the prompt names.
#pragma once

#include <memory>

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

  static constexpr int32_t answers = 4;       // tokens 0 … 3 can be asked for
  static constexpr int32_t first_prompt = 8;  // prompt token of answer 0

  /// Two turns: prompt and two sampled tokens; a masked reply and two more. Reward +1 for every
  /// sampled token that equals the answer, −1 else, their mean.
  Trajectory play(const WeightSnapshot& snapshot);

 private:
  struct Sampled {
    int32_t token;
    float log_prob;
  };
  Sampled sample(const Transformer& model, const std::vector<int32_t>& tokens);

  RandomStream random_;
  TrajectoryId next_ = 1;
};

/// Plays and trains; returns the mean reward of each step. Trajectories are sampled by the weights
/// of `lag` steps ago.
std::vector<double> learning_curve(Trainer& trainer, int steps, size_t lag);

/// observe all segments, then finish. Throws on an error.
Progress feed(Trainer& trainer, const Trajectory& trajectory);

/// Greatest absolute difference over all parameters.
double distance(const ModelWeights& a, const ModelWeights& b);

}  // namespace warpsmith::policy
