// SPDX-License-Identifier: Apache-2.0
// Our Error as caf::error and back: one category, one renderer.
#pragma once

#include <caf/actor_system_config.hpp>
#include <caf/error.hpp>

#include "runtime/result.hpp"

namespace warpsmith::actors {

caf::error to_caf(const Error& error);

/// Errors of CAF itself (time-outs, lost peers) get the nearest code of ours.
Error from_caf(const caf::error& error);

/// Lets `system.render` print our category.
void register_errors(caf::actor_system_config& config);

}  // namespace warpsmith::actors
