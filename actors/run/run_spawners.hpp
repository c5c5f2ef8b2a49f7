// SPDX-License-Identifier: Apache-2.0
// The spawners of a run: every actor with the settings that its configuration gives it.
#pragma once

#include <memory>

#include "actors/run/run_inputs.hpp"
#include "actors/supervisor/spawners.hpp"

namespace warpsmith::actors {

Spawners make_spawners(const std::shared_ptr<const RunInputs>& inputs);

}  // namespace warpsmith::actors
