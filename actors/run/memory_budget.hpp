// SPDX-License-Identifier: Apache-2.0
// The memory that the tensors of a run take, before any is made.
#pragma once

#include <cstdint>
#include <vector>

#include "policy/learn/memory_plan.hpp"
#include "runtime/config/run_config.hpp"

namespace warpsmith::actors {

/// Bytes, by owner.
struct MemoryBudget {
  policy::LearnerMemory learner;  // of a stage that learns online
  int64_t generator = 0;          // per engine: weights and cache; on a GPU all that it takes there
  int64_t cache_token = 0;        // of that, for each token of the cache
  bool learns = false;            // there is a learner
};

/// `learns`: the run has a learner; an evaluation has none, whatever its configuration's stage.
MemoryBudget memory_budget(const RunConfig& config, const policy::ModelConfig& model, bool learns);

/// Each GPU that a rank of the learner or a generator uses must hold them and the sandboxes and
/// composers that share it. `sizes`: the bytes of each GPU here. `unsupported` for a GPU that is
/// not there; `capacity` if one is too small: the message has the parts, and says which numbers to
/// lower, to what if one is enough.
Result<void> check_gpus(const RunConfig& config, const MemoryBudget& budget,
                        const std::vector<int64_t>& sizes);
/// The same for the GPUs of this machine; nothing to check if learner and generator use none.
Result<void> check_gpus_here(const RunConfig& config, const MemoryBudget& budget);

}  // namespace warpsmith::actors
