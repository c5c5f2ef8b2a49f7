// SPDX-License-Identifier: Apache-2.0
// Latency of messages between actors of one process: a request and its response, and a large
// segment by reference, beside two threads that pass a turn by a condition variable.
#pragma once

#include <cstdint>
#include <vector>

namespace warpsmith::commands {

/// Microseconds, over all rounds.
struct LatencyFigures {
  double median_us = 0;
  double p95_us = 0;
};

struct ActorLatency {
  LatencyFigures request;         // a small request until its response
  LatencyFigures segment_1mib;    // a 1 MiB segment by reference until its response
  LatencyFigures thread_handoff;  // the peer: std::condition_variable there and back
};

LatencyFigures figures_of(std::vector<double> microseconds);

/// Takes about a second for 20,000 rounds.
ActorLatency measure_actor_latency(uint32_t rounds);

}  // namespace warpsmith::commands
