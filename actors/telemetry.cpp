// SPDX-License-Identifier: Apache-2.0
#include "actors/telemetry.hpp"

#include "actors/inspect.hpp"

namespace warpsmith::actors {

void TelemetryState::observe(const Observation& seen) {
  constexpr size_t most_names = 4096;  // a source that invents names must not fill memory
  for (const auto& [name, value] : seen.values) {
    const std::string key = seen.source + '.' + name;
    if (latest_.values.size() < most_names || latest_.values.contains(key)) {
      latest_.values[key] = value;
    }
  }
}

Observation TelemetryState::snapshot(atom::snapshot /*unused*/) {
  return latest_;
}

void TelemetryState::describe(ActorStatus& status) const {
  status.phase = "listening";
  status.gauges["names"] = static_cast<double>(latest_.values.size());
}

TelemetryActor::behavior_type telemetry(TelemetryActor::stateful_pointer<TelemetryState> self,
                                        Identity identity) {
  adopt(self, std::move(identity));
  return {on(self, "status", &TelemetryState::status),
          on(self, "observe", &TelemetryState::observe),
          on(self, "snapshot", &TelemetryState::snapshot)};
}

}  // namespace warpsmith::actors
