// SPDX-License-Identifier: Apache-2.0
// Whether a run can go on with a changed configuration.
#pragma once

#include <filesystem>
#include <string>

#include "runtime/config/run_config.hpp"

namespace warpsmith::actors {

/// Refuses other settings of sampling than those that the run in `run` has sampled with: the
/// learner computes the ratios of PPO for one distribution. So does a stage that only collects,
/// because a later resume may train what it sampled. The error names the key, and `remedy` after
/// "resume without this change, or". Pure.
Result<void> check_resumable(const RunConfig& before, const RunConfig& now, const std::string& run,
                             const std::string& remedy);

/// The same for a run on disk, by its own configuration. One without a trajectory takes any.
Result<void> check_sampling(const std::filesystem::path& run, const RunConfig& now,
                            const std::string& remedy);

}  // namespace warpsmith::actors
