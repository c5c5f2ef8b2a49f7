// SPDX-License-Identifier: Apache-2.0
// Benchmarks of the learner: a trainer's throughput on synthetic trajectories, the cost of one long
// trajectory, and whole steps on one rank or several.
#pragma once

#include <cstdint>
#include <vector>

#include "policy/learn/trainer.hpp"

namespace warpsmith::policy {

struct LearnBenchOptions {
  int64_t trajectories = 32;   // of one step
  int64_t prompt_tokens = 60;  // masked
  int64_t turns = 2;
  int64_t action_tokens = 120;  // per turn
  int64_t result_tokens = 20;   // per turn, masked
  int64_t steps = 2;            // measured, after one that warms up
};

struct LearnBench {
  double seconds = 0;
  double observe_seconds = 0;       // of `seconds`, in streamed forwards
  double trained_tokens_per_s = 0;  // tokens of trajectories per second, each counted once
  double passes_tokens_per_s = 0;   // tokens of all forward and backward passes per second
  double gflops = 0;  // 6 per parameter and pass token, 2 per streamed one, attention left out
  int64_t parameters = 0;
};

/// Trains on random tokens with the log-probabilities of a uniform policy.
LearnBench bench_learn(Trainer& trainer, const LearnBenchOptions& options, uint64_t seed);

/// One gradient pass.
struct PassFigures {
  double seconds = 0;
  int64_t peak_bytes = 0;  // on a GPU, with the weights
};

/// Forward and backward of a PPO policy loss over a trajectory of random tokens, all of them action
/// tokens but the first. `model` collects gradients; they are cleared before and after.
PassFigures bench_pass(Transformer& model, int64_t tokens, uint64_t seed);

struct UpdateShape {
  int64_t tokens = 131'072;
  int64_t turns = 128;  // of equal length, a quarter of each a tool's result
};

/// A whole PPO update from one long trajectory.
struct UpdateFigures {
  double streaming_seconds = 0;  // of all segments but the last
  double gap_seconds = 0;        // from the last segment to the start of the gradient pass
  double gradient_seconds = 0;   // from there to new weights
  int64_t peak_bytes = 0;
  int64_t planned_bytes = 0;  // by plan_learner_memory
};

/// One trajectory through a trainer whose step is one trajectory.
UpdateFigures bench_update(Trainer& trainer, const UpdateShape& shape, uint64_t seed);

struct RanksShape {
  int64_t trajectories = 4;  // of one step
  int64_t tokens = 32'768;   // of each; a quarter is masked
  int64_t steps = 2;         // measured, after one that warms up
};

/// Whole steps on one rank or several. Losses are of every step, including the first one.
struct RanksFigures {
  double seconds = 0;
  double tokens_per_s = 0;  // of all passes
  std::vector<double> policy_losses, value_losses;
  int64_t peak_bytes = 0;  // of the GPU that needs most
};

/// The learner's configuration for it: steps of that shape, one trajectory to a pack, forwards at
/// use.
LearnerConfig ranks_config(LearnerConfig config, const RanksShape& shape);

/// Trains on random tokens, which depend only on `seed`. `trainer` has the configuration `config`.
RanksFigures bench_ranks(Trainer& trainer, const LearnerConfig& config, const RanksShape& shape,
                         uint64_t seed);

}  // namespace warpsmith::policy
