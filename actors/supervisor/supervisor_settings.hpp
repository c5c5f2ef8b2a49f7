// SPDX-License-Identifier: Apache-2.0
// The supervisor's settings from the configuration of a run.
#pragma once

#include <cstdint>

#include "actors/supervisor/supervisor.hpp"
#include "runtime/config/run_config.hpp"

namespace warpsmith::actors {

/// `checkpoint_bytes`: of one checkpoint, at most; the last one may take as long as a slow disk
/// needs.
SupervisorSettings supervisor_settings(const RunConfig& config, int64_t checkpoint_bytes);

}  // namespace warpsmith::actors
