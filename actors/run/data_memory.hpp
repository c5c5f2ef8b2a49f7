// SPDX-License-Identifier: Apache-2.0
// The memory that a stage takes that learns from given data (sft, rft, value), before any is made.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "policy/learn/memory_plan.hpp"
#include "runtime/config/run_config.hpp"

namespace warpsmith::actors {

policy::DataStageMemory data_stage_memory(const RunConfig& config,
                                          const policy::ModelConfig& model);

/// What can be set so that the stage needs less: "lower sft.context and …".
std::string data_stage_remedies(const RunConfig& config);

/// `capacity` if the learner's GPU, one of `sizes` bytes, is too small; the message has the parts
/// and names what to lower. Nothing to check on a CPU.
Result<void> check_data_gpu(const RunConfig& config, const policy::DataStageMemory& plan,
                            const std::vector<int64_t>& sizes);
/// The same for this machine, which must have that GPU.
Result<void> check_data_gpu_here(const RunConfig& config, const policy::DataStageMemory& plan);

}  // namespace warpsmith::actors
