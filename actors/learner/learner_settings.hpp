// SPDX-License-Identifier: Apache-2.0
// The learner's settings from the configuration of a run.
#pragma once

#include "actors/learner/learner.hpp"
#include "actors/learner/origin.hpp"
#include "policy/learn/memory_plan.hpp"
#include "runtime/config/run_config.hpp"

namespace warpsmith::actors {

/// The policy before the first step of this incarnation.
struct TrainerStart {
  policy::ModelConfig model;
  policy::ModelWeights weights;  // replaced by the origin's checkpoint, if it has one
  Origin origin;
  std::shared_ptr<const policy::CriticWeights> critic = nullptr;  // likewise; none: a new one
};

/// What the learner of a run takes, before its tensors are made.
policy::LearnerMemory learner_memory(const RunConfig& config, const policy::ModelConfig& model);

LearnerSettings learner_settings(const RunConfig& config, TrainerStart start,
                                 std::shared_ptr<const CheckpointStore> checkpoints);

}  // namespace warpsmith::actors
