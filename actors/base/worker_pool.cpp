// SPDX-License-Identifier: Apache-2.0
#include "actors/base/worker_pool.hpp"

#include <algorithm>
#include <thread>

namespace warpsmith::actors {

void configure_workers(caf::actor_system_config& config, int64_t threads) {
  const size_t cores = std::max(1U, std::thread::hardware_concurrency());
  config.set("scheduler.max-threads", threads > 0 ? static_cast<size_t>(threads) : cores);
  // CAF sets no limit, so an actor that sends to itself would starve its neighbours.
  config.set("scheduler.max-throughput", size_t{50});
  config.set("work-stealing.moderate-poll-attempts", size_t{0});
}

}  // namespace warpsmith::actors
