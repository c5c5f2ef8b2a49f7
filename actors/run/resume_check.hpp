// SPDX-License-Identifier: Apache-2.0
// Whether a run can go on with a changed configuration. Pure.
#pragma once

#include <string>

#include "runtime/config/run_config.hpp"

namespace warpsmith::actors {

/// Refuses other settings of sampling than those that `run` has sampled with: the learner computes
/// the ratios of PPO for one distribution. So does a stage that only collects, because a later
/// resume may train what it sampled. The error names the key.
Result<void> check_resumable(const RunConfig& before, const RunConfig& now, const std::string& run);

}  // namespace warpsmith::actors
