// SPDX-License-Identifier: Apache-2.0
// What LibTorch throws in a stage, as one message.
#pragma once

#include <functional>

#include "commands/train/stage_end.hpp"
#include "runtime/config/run_config.hpp"

namespace warpsmith::commands {

/// Runs a stage. An error of LibTorch becomes a message without a backtrace, with the stage and how
/// to go on. If a stage that learns from given data finds no memory left, it also says what to
/// lower.
StageEnd run_guarded(const RunConfig& config, const std::function<StageEnd()>& stage);

}  // namespace warpsmith::commands
