// SPDX-License-Identifier: Apache-2.0
#include "actors/telemetry/telemetry.hpp"

#include <fmt/format.h>

#include "actors/protocol/inspect.hpp"

namespace warpsmith::actors {
namespace {

constexpr size_t most_names = 4096;  // bounds memory if a source invents names

template <class Value>
void keep(const std::string& source, const std::map<std::string, Value>& seen,
          std::map<std::string, Value>& latest) {
  for (const auto& [name, value] : seen) {
    const std::string key = fmt::format("{}.{}", source, name);
    if (latest.size() < most_names || latest.contains(key)) latest[key] = value;
  }
}

}  // namespace

void TelemetryState::observe(const Observation& seen) {
  keep(seen.source, seen.values, latest_.values);
  keep(seen.source, seen.texts, latest_.texts);
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
  set_up_actor(self, std::move(identity));
  return {on(self, "status", &TelemetryState::status),
          on(self, "observe", &TelemetryState::observe),
          on(self, "snapshot", &TelemetryState::snapshot)};
}

}  // namespace warpsmith::actors
