// SPDX-License-Identifier: Apache-2.0
#include "runtime/config/telemetry_config.hpp"

#include <algorithm>
#include <array>

namespace warpsmith {
namespace {
constexpr std::array<std::string_view, 3> level_names{"info", "warn", "error"};
}  // namespace

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

}  // namespace warpsmith
