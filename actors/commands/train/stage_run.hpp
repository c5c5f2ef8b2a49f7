// SPDX-License-Identifier: Apache-2.0
// Runs whatever stage a configuration asks for.
#pragma once

#include "actors/commands/train/stage_end.hpp"
#include "runtime/config/run_config.hpp"

namespace warpsmith::actors {

StageEnd run_stage(const RunConfig& config, const RunPlace& place, const Output& output);

}  // namespace warpsmith::actors
