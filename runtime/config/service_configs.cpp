// SPDX-License-Identifier: Apache-2.0
#include "runtime/config/service_configs.hpp"

#include <algorithm>
#include <array>

namespace warpsmith {
namespace {

constexpr std::array<std::string_view, 3> level_names{"info", "warn", "error"};

}  // namespace

void describe(Fields& fields, LedgerConfig& c) {
  fields.duration("group_commit", c.group_commit, {.high = std::chrono::seconds{10}});
  fields.bytes("segment_file", c.segment_file_bytes, {.low = 64 << 10});
  fields.integer("checkpoint_steps", c.checkpoint_steps, {.low = 1, .high = 1 << 20});
  fields.integer("keep_checkpoints", c.keep_checkpoints, {.low = 1, .high = 10'000});
  fields.integer("max_in_flight", c.max_in_flight, {.low = 1, .high = 1 << 24});
}

void describe(Fields& fields, TelemetryConfig& c) {
  fields.duration("interval", c.interval, {.low = std::chrono::milliseconds{50}});
  fields.text("log_level", c.log_level);
  fields.flag("trace", c.trace);
  fields.duration("window", c.window, {.low = std::chrono::seconds{1}});
}

void validate(const TelemetryConfig& c, Complaints& complaints) {
  const bool known =
      std::find(level_names.begin(), level_names.end(), c.log_level) != level_names.end();
  complaints.require(known, "telemetry.log_level",
                     "expected \"info\", \"warn\" or \"error\", got \"" + c.log_level + "\"");
  complaints.require(c.interval <= c.window, "telemetry.interval",
                     "expected at most telemetry.window");
}

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

void describe(Fields& fields, NodeConfig& c) {
  fields.bytes("chunk", c.chunk_bytes, {.low = 4 << 10, .high = 8 << 20});
}

}  // namespace warpsmith
