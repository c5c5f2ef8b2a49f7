// SPDX-License-Identifier: Apache-2.0
// Computes the memory of a learner's tensors before any is made.
#pragma once

#include <cstdint>

#include "policy/model/config.hpp"
#include "runtime/config/learner_config.hpp"

namespace warpsmith::policy {

/// Bytes, of each rank. On a CPU everything is float32, and activations are left out.
struct LearnerMemory {
  int64_t parameters = 0;   // weights, gradients, two moments, the copy that computes
  int64_t published = 0;    // the newest version; the first rank has it
  int64_t reference = 0;    // the policy of a KL term; with LoRA that is the frozen weights
  int64_t kept = 0;         // prefixes of running trajectories, at most
  int64_t activations = 0;  // of one pass over the longest pack, beyond gradients
  int64_t host = 0;         // of pinned memory for what is offloaded, at most; not in `total`

  int64_t total() const { return parameters + published + reference + kept + activations; }
};

/// Bounds on the trajectories of a run.
struct TrajectoryBounds {
  int64_t longest = 0;     // tokens; it is a separate pack
  int64_t concurrent = 1;  // whose prefixes may be kept during a gradient pass
};

/// Bytes of a stage that learns from existing data.
struct DataStageMemory {
  int64_t parameters = 0;   // weights, gradients, two moments, the copy that computes
  int64_t activations = 0;  // of one pass over the longest pack, beyond gradients
  int64_t host = 0;         // of pinned memory for what is offloaded; not in `total`

  int64_t total() const { return parameters + activations; }
};

/// `pack`: tokens of the longest pass. Both ignore the bounds of [learner] on trajectories.
DataStageMemory plan_policy_fitting(const ModelConfig& model, const LearnerConfig& config,
                                    int64_t pack);
DataStageMemory plan_critic_fitting(const ModelConfig& model, const LearnerConfig& config,
                                    int64_t pack);

LearnerMemory plan_learner_memory(const ModelConfig& model, const LearnerConfig& config,
                                  const TrajectoryBounds& bounds);

}  // namespace warpsmith::policy
