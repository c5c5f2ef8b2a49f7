// SPDX-License-Identifier: Apache-2.0
// The memory that the tensors of a run take, before any is made.
#pragma once

#include <cstdint>

#include "policy/learn/memory_plan.hpp"
#include "runtime/config/run_config.hpp"

namespace warpsmith::actors {

/// Bytes, by owner.
struct MemoryBudget {
  policy::LearnerMemory learner;  // of a stage that learns online
  int64_t generator = 0;          // per engine: weights and cache; on a GPU all that it takes there
};

MemoryBudget memory_budget(const RunConfig& config, const policy::ModelConfig& model);

/// `capacity` if the learner and what shares its GPU of `total` bytes need more. The message has
/// the parts, and says which numbers to lower, to what if one is enough.
Result<void> check_learner_gpu(const RunConfig& config, const MemoryBudget& budget, int64_t total);
/// The same with the size of the learner's GPU, which must be there (see check_placement); nothing
/// to check on a CPU.
Result<void> check_gpu_here(const RunConfig& config, const MemoryBudget& budget);

}  // namespace warpsmith::actors
