// SPDX-License-Identifier: Apache-2.0
#include "runtime/config/supervisor_config.hpp"

namespace warpsmith {

void describe(Fields& fields, SupervisorConfig& c) {
  using std::chrono::milliseconds;
  fields.integer("max_restarts", c.max_restarts, {.low = 0, .high = 10'000});
  fields.duration("restart_window", c.restart_window, {.low = std::chrono::seconds{1}});
  fields.duration("first_backoff", c.first_backoff, {.low = milliseconds{1}});
  fields.duration("last_backoff", c.last_backoff, {.low = milliseconds{1}});
  fields.duration("heartbeat", c.heartbeat, {.low = milliseconds{50}});
  fields.duration("status_bound", c.status_bound, {.low = milliseconds{100}});
  fields.duration("stuck_timeout", c.stuck_timeout, {.low = milliseconds{100}});
  fields.duration("stop_timeout", c.stop_timeout, {.low = milliseconds{100}});
}

void validate(const SupervisorConfig& c, Complaints& complaints) {
  complaints.require(c.first_backoff <= c.last_backoff, "supervisor.first_backoff",
                     "expected at most supervisor.last_backoff");
  complaints.require(c.heartbeat <= c.status_bound, "supervisor.heartbeat",
                     "expected at most supervisor.status_bound");
  complaints.require(c.status_bound <= c.stuck_timeout, "supervisor.stuck_timeout",
                     "expected at least supervisor.status_bound");
}

}  // namespace warpsmith
