// SPDX-License-Identifier: Apache-2.0
// How fast actors talk within a process: request and response, and a large segment by reference,
// beside two threads that hand a turn over with a condition variable.
#pragma once

#include <cstdint>
#include <vector>

namespace warpsmith::actors {

/// Microseconds over the measured rounds.
struct LatencyFigures {
  double median_us = 0;
  double p95_us = 0;
};

struct ActorLatency {
  LatencyFigures request;         // pooled asks pooled, answer received
  LatencyFigures segment_1mib;    // a 1 MiB segment handed over by reference, answer received
  LatencyFigures thread_handoff;  // peer: std::condition_variable there and back
};

LatencyFigures figures_of(std::vector<double> microseconds);

/// Takes about a second for 20,000 rounds.
ActorLatency measure_actor_latency(uint32_t rounds);

}  // namespace warpsmith::actors
