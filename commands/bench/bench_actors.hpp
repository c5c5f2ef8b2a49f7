// SPDX-License-Identifier: Apache-2.0
// `warpsmith bench actors`: the latency of messages between actors of one process (a small request,
// and a large segment by reference), compared with two threads and a condition variable.
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
