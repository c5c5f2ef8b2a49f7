// SPDX-License-Identifier: Apache-2.0
// The speed of whole steps on one rank or several, and their losses.
#pragma once

#include <cstdint>
#include <vector>

#include "policy/learn/trainer.hpp"

namespace warpsmith::policy {

struct RanksShape {
  int64_t trajectories = 4;  // of one step
  int64_t tokens = 32'768;   // of each; a quarter is masked
  int64_t steps = 2;         // measured, after one that warms up
};

/// Losses are of every step, the first one too.
struct RanksFigures {
  double seconds = 0;
  double tokens_per_s = 0;  // of all passes
  std::vector<double> policy_losses, value_losses;
  int64_t peak_bytes = 0;  // of the GPU that needs most
};

/// The learner's configuration for it: steps of that shape, one trajectory to a pack, forwards at
/// use.
LearnerConfig ranks_config(LearnerConfig config, const RanksShape& shape);

/// Trains on random tokens, which depend on `seed` alone. `trainer` has the configuration `config`.
RanksFigures bench_ranks(Trainer& trainer, const LearnerConfig& config, const RanksShape& shape,
                         uint64_t seed);

}  // namespace warpsmith::policy
