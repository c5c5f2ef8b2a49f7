// SPDX-License-Identifier: Apache-2.0
// Computes the memory of a run's tensors before any is made, and checks it against the GPUs of this
// machine, for runs that sample and for stages that learn from existing data.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "policy/learn/memory_plan.hpp"
#include "runtime/config/run_config.hpp"
#include "runtime/result.hpp"

namespace warpsmith::actors {

/// Bytes, by owner.
struct MemoryBudget {
  policy::LearnerMemory learner;  // of a stage that learns online
  int64_t generator = 0;    // per engine: weights and cache; on a GPU everything it takes there
  int64_t cache_token = 0;  // of that, for each token of the cache
  bool learns = false;      // there is a learner
};

/// `learns`: the run has a learner; an evaluation has none, regardless of its configuration's
/// stage.
MemoryBudget memory_budget(const RunConfig& config, const policy::ModelConfig& model, bool learns);

/// Checks that each GPU used by a learner's rank or a generator has room for them and for the
/// sandboxes and composers that share it. `sizes`: the bytes of each GPU here. `unsupported` for a
/// GPU that does not exist; `capacity` if a GPU is too small: the message lists the parts and the
/// settings to lower, with a value if one setting is enough.
Result<void> check_gpus(const RunConfig& config, const MemoryBudget& budget,
                        const std::vector<int64_t>& sizes);
/// The same for the GPUs of this machine; nothing to check if learner and generator use none.
Result<void> check_gpus_here(const RunConfig& config, const MemoryBudget& budget);

/// The memory of a stage that learns from existing data (sft, rft, value).
policy::DataStageMemory data_stage_memory(const RunConfig& config,
                                          const policy::ModelConfig& model);

/// Settings that reduce the stage's memory: "lower sft.context and …".
std::string data_stage_remedies(const RunConfig& config);

/// `capacity` if the learner's GPU, one of `sizes` bytes, is too small; the message has the parts
/// and names what to lower. Nothing to check on a CPU.
Result<void> check_data_gpu(const RunConfig& config, const policy::DataStageMemory& plan,
                            const std::vector<int64_t>& sizes);
/// The same for this machine, which must have that GPU.
Result<void> check_data_gpu_here(const RunConfig& config, const policy::DataStageMemory& plan);

}  // namespace warpsmith::actors
