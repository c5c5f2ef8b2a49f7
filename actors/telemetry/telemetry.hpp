// SPDX-License-Identifier: Apache-2.0
// Telemetry: the latest numbers of every source. Owns only those; spawned and watched by the
// supervisor; bounded by the number of names. If it dies, numbers are missing for a while.
#pragma once

#include "actors/base/actor_state.hpp"
#include "actors/protocol/interfaces.hpp"

namespace warpsmith::actors {

class TelemetryState : public ActorState {
 public:
  void observe(const Observation& seen);
  Observation snapshot(atom::snapshot);

 private:
  void describe(ActorStatus& status) const override;

  Observation latest_{"telemetry", {}};
};

TelemetryActor::behavior_type telemetry(TelemetryActor::stateful_pointer<TelemetryState> self,
                                        Identity identity);

}  // namespace warpsmith::actors
