// SPDX-License-Identifier: Apache-2.0
// [telemetry]: how often figures are shown and recorded, and the log level.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "runtime/config/complaints.hpp"
#include "runtime/config/fields.hpp"

namespace warpsmith {

struct TelemetryConfig {
  std::chrono::milliseconds interval{std::chrono::seconds{1}};  // of progress lines and records
  std::string log_level = "info";                               // "info", "warn", "error"
  bool trace = false;  // write trace.json (Chrome's trace events) into the run folder
  std::chrono::milliseconds window{std::chrono::seconds{30}};  // over which rates are taken
};

void describe(Fields& fields, TelemetryConfig& c);
void validate(const TelemetryConfig& c, Complaints& complaints);

}  // namespace warpsmith
