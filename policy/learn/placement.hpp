// SPDX-License-Identifier: Apache-2.0
// Where a learner's tensors are, and in which type it computes.
#pragma once

#include <c10/core/Device.h>

#include <vector>

#include "policy/model/transformer.hpp"
#include "runtime/config/learner_config.hpp"
#include "runtime/result.hpp"

namespace warpsmith::policy {

struct Placement {
  at::Device device = at::kCPU;
  ComputeOptions compute;  // of policy and critic; master weights are float32
};

Placement placement_of(const LearnerConfig& config);

/// The devices of a learner's ranks, in order.
std::vector<at::Device> devices_of(const LearnerConfig& config);

/// The model that a learner trains: on its device, with float32 master weights; those that LoRA
/// freezes have the type that it computes in.
Transformer placed(ModelConfig config, ModelWeights weights, const LearnerConfig& learner);

/// `unsupported` if a configured GPU does not exist, or if several cannot work together.
Result<void> check_placement(const LearnerConfig& config);

}  // namespace warpsmith::policy
