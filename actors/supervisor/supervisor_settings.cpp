// SPDX-License-Identifier: Apache-2.0
#include "actors/supervisor/supervisor_settings.hpp"

#include <algorithm>

namespace warpsmith::actors {

namespace {

constexpr int64_t slow_disk = 100'000;  // bytes in a millisecond

}  // namespace

SupervisorSettings supervisor_settings(const RunConfig& config, int64_t checkpoint_bytes) {
  const SupervisorConfig& c = config.supervisor;
  SupervisorSettings settings;
  // One brain, because it counts the budget of the whole run.
  const int64_t generators = has_brain(config.brain) ? 1 : config.generator.count;
  settings.counts = {static_cast<uint32_t>(config.sandbox.count), static_cast<uint32_t>(generators),
                     static_cast<uint32_t>(config.tool_executor.count),
                     static_cast<uint32_t>(config.rollout.count),
                     static_cast<uint32_t>(config.synthesis.composers())};
  settings.heartbeat = c.heartbeat;
  settings.status_bound = c.status_bound;
  settings.stuck_timeout = c.stuck_timeout;
  settings.stop_timeout = c.stop_timeout;
  settings.checkpoint_timeout =
      c.stop_timeout + std::chrono::milliseconds{checkpoint_bytes / slow_disk};
  for (RestartLimits& limits : settings.restarts) {
    limits.max_restarts = std::min(limits.max_restarts, static_cast<uint32_t>(c.max_restarts));
    limits.window = c.restart_window;
    limits.first_delay = c.first_backoff;
    limits.max_delay = c.last_backoff;
  }
  return settings;
}

}  // namespace warpsmith::actors
