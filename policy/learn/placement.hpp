// SPDX-License-Identifier: Apache-2.0
// Where a learner's tensors are, and in which type it computes.
#pragma once

#include <c10/core/Device.h>

#include "policy/model/transformer.hpp"
#include "runtime/config/learner_config.hpp"
#include "runtime/result.hpp"

namespace warpsmith::policy {

struct Placement {
  at::Device device = at::kCPU;
  ComputeOptions compute;  // of policy and critic; master weights are float32
};

Placement placement_of(const LearnerConfig& config);

/// The model that a learner trains: on its device, with float32 master weights.
Transformer placed(ModelConfig config, ModelWeights weights, const LearnerConfig& learner);

/// `unsupported` if the configured GPU is not there.
Result<void> check_placement(const LearnerConfig& config);

/// Waits for all work that this thread has queued on `device`.
void wait_for(at::Device device);

}  // namespace warpsmith::policy
