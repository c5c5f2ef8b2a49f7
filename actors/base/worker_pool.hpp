// SPDX-License-Identifier: Apache-2.0
// The threads that all pooled actors share.
#pragma once

#include <caf/actor_system_config.hpp>
#include <cstdint>

namespace warpsmith::actors {

/// `threads` 0: one per core. An idle worker sleeps until a message is handed to it, and looks for
/// others' work every 10 ms; by default it would look 10,000 times per second.
void configure_workers(caf::actor_system_config& config, int64_t threads);

}  // namespace warpsmith::actors
