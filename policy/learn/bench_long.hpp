// SPDX-License-Identifier: Apache-2.0
// The cost of one long trajectory: a gradient pass alone, and a whole PPO update.
#pragma once

#include <cstdint>

#include "policy/learn/trainer.hpp"

namespace warpsmith::policy {

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

struct UpdateFigures {
  double streaming_seconds = 0;  // of all segments but the last
  double gap_seconds = 0;        // from the last segment to the begin of the gradient pass
  double gradient_seconds = 0;   // from there to new weights
  int64_t peak_bytes = 0;
  int64_t planned_bytes = 0;  // by plan_learner_memory
};

/// One trajectory through a trainer whose step is one trajectory.
UpdateFigures bench_update(Trainer& trainer, const UpdateShape& shape, uint64_t seed);

}  // namespace warpsmith::policy
