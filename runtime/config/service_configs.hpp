// SPDX-License-Identifier: Apache-2.0
// The services of a run. [ledger]: what is made durable and how often, and how much is kept.
// [telemetry]: how often figures are shown and recorded, and the log level. [supervisor]: restarts,
// heartbeats and the time to stop. [node]: how this process sends data to other nodes.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "runtime/config/complaints.hpp"
#include "runtime/config/fields.hpp"

namespace warpsmith {

struct LedgerConfig {
  std::chrono::milliseconds group_commit{5};  // writes within this time share one flush to disk
  int64_t segment_file_bytes = 64 << 20;      // a larger file is closed and the next one begun
  int64_t checkpoint_steps = 10;              // optimiser steps between checkpoints
  int64_t keep_checkpoints = 2;               // newest ones; a run's last one is always kept
  int64_t max_in_flight = 4'096;              // trajectories admitted and not yet ended
};

void describe(Fields& fields, LedgerConfig& c);

struct TelemetryConfig {
  std::chrono::milliseconds interval{std::chrono::seconds{1}};  // of progress lines and records
  std::string log_level = "info";                               // "info", "warn", "error"
  bool trace = false;  // write trace.json (Chrome's trace events) into the run folder
  std::chrono::milliseconds window{std::chrono::seconds{30}};  // over which rates are taken
};

void describe(Fields& fields, TelemetryConfig& c);
void validate(const TelemetryConfig& c, Complaints& complaints);

struct SupervisorConfig {
  int64_t max_restarts = 5;  // of one actor within the window; one more stops the run
  std::chrono::milliseconds restart_window{std::chrono::minutes{5}};
  std::chrono::milliseconds first_backoff{200};  // doubled at each restart within the window
  std::chrono::milliseconds last_backoff{std::chrono::seconds{30}};
  std::chrono::milliseconds heartbeat{std::chrono::seconds{2}};  // between two status requests
  // An actor that answers later than this is reported in the log.
  std::chrono::milliseconds status_bound{std::chrono::seconds{10}};
  // An actor without an answer for this long is replaced; if it owns the run's state, the run
  // stops.
  std::chrono::milliseconds stuck_timeout{std::chrono::minutes{10}};
  std::chrono::milliseconds stop_timeout{std::chrono::seconds{60}};  // for a clean stop
};

void describe(Fields& fields, SupervisorConfig& c);
void validate(const SupervisorConfig& c, Complaints& complaints);

struct NodeConfig {
  int64_t chunk_bytes = 8 << 20;  // a bulk transfer's pieces; control messages go between them
};

void describe(Fields& fields, NodeConfig& c);

}  // namespace warpsmith
