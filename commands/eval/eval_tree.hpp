// SPDX-License-Identifier: Apache-2.0
// Runs the actors of an evaluation: all of a training but the learner.
#pragma once

#include <memory>

#include "commands/run_loop.hpp"
#include "actors/run/run_inputs.hpp"

namespace warpsmith::commands {
using namespace actors;

/// Until all trajectories of the inputs are over, or a limit, a signal or a failure ends it.
LoopResult run_eval_tree(const std::shared_ptr<const RunInputs>& inputs, const SignalWait& signals,
                         bool quiet);

}  // namespace warpsmith::commands
