// SPDX-License-Identifier: Apache-2.0
// [supervisor]: restarts, heartbeats and the time to stop.
#pragma once

#include <chrono>
#include <cstdint>

#include "runtime/config/complaints.hpp"
#include "runtime/config/fields.hpp"

namespace warpsmith {

struct SupervisorConfig {
  int64_t max_restarts = 5;  // of one actor within the window; one more stops the run
  std::chrono::milliseconds restart_window{std::chrono::minutes{5}};
  std::chrono::milliseconds first_backoff{200};  // doubled at each restart within the window
  std::chrono::milliseconds last_backoff{std::chrono::seconds{30}};
  std::chrono::milliseconds heartbeat{std::chrono::seconds{2}};  // between two status requests
  // An actor that answers later than this is named in the log.
  std::chrono::milliseconds status_bound{std::chrono::seconds{10}};
  // After so long without an answer it is replaced; if it keeps the run's state, the run stops.
  std::chrono::milliseconds stuck_timeout{std::chrono::minutes{10}};
  std::chrono::milliseconds stop_timeout{std::chrono::seconds{60}};  // for a clean stop
};

void describe(Fields& fields, SupervisorConfig& c);
void validate(const SupervisorConfig& c, Complaints& complaints);

}  // namespace warpsmith
