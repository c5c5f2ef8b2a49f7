// SPDX-License-Identifier: Apache-2.0
// How much memory a learner's tensors take, before any is made.
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
  int64_t kept = 0;         // trajectories with their prefixes, at most
  int64_t activations = 0;  // of one pass over the longest pack

  int64_t total() const { return parameters + published + reference + kept + activations; }
};

/// `longest`: tokens of the longest trajectory, which is a pack of its own.
LearnerMemory plan_learner_memory(const ModelConfig& model, const LearnerConfig& config,
                                  int64_t longest);

}  // namespace warpsmith::policy
