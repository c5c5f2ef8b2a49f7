// SPDX-License-Identifier: Apache-2.0
// The synthesis's settings from the configuration of a run.
#pragma once

#include "actors/synthesis/synthesis.hpp"
#include "runtime/config/run_config.hpp"

namespace warpsmith::actors {

/// `tasks`: the number of tasks in the sources. `run`: the run's folder, for what it composes.
SynthesisSettings synthesis_settings(const RunConfig& config, size_t tasks,
                                     const std::filesystem::path& run);

}  // namespace warpsmith::actors
