// SPDX-License-Identifier: Apache-2.0
// The supervisor's settings from the configuration of a run.
#pragma once

#include "actors/supervisor/supervisor.hpp"
#include "runtime/config/run_config.hpp"

namespace warpsmith::actors {

SupervisorSettings supervisor_settings(const RunConfig& config);

}  // namespace warpsmith::actors
