// SPDX-License-Identifier: Apache-2.0
// The threads that all actors without their own thread share.
#pragma once

#include <caf/actor_system_config.hpp>
#include <cstdint>

namespace warpsmith::actors {

/// `threads` 0: one per core. An idle worker sleeps until it gets a message, and looks for work to
/// steal every 10 ms; CAF's default is 10,000 times per second.
void configure_workers(caf::actor_system_config& config, int64_t threads);

}  // namespace warpsmith::actors
