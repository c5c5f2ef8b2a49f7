// SPDX-License-Identifier: Apache-2.0
// The one place through which every delivery passes, answers included: the trace sits here, and the
// tests' fault injection.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "runtime/clock.hpp"
#include "runtime/result.hpp"

namespace warpsmith::actors {

/// One message, at the moment its receiver handles it.
struct Delivery {
  std::string_view actor;    // receiver's label, "rollout-0"
  std::string_view handler;  // "append"
  uint64_t sender = 0;       // CAF's actor id, 0 if anonymous
  uint64_t number = 0;       // counts the receiver's deliveries from 1
};

/// When a handler ran.
struct Visited {
  SteadyClock::time_point begin;
  std::chrono::nanoseconds took{0};
};

/// Called on the receiver's thread, before the handler. Implementations are thread-safe.
class Tap {
 public:
  Tap() = default;
  Tap(const Tap&) = delete;
  Tap& operator=(const Tap&) = delete;
  virtual ~Tap() = default;
  virtual void delivered(const Delivery& delivery) = 0;
  /// Called on the same thread, after the handler.
  virtual void handled(const Delivery& /*delivery*/, const Visited& /*visited*/) {}
};

/// Lets everything through and remembers nothing.
std::unique_ptr<Tap> make_silent_tap();

/// Writes Chrome's trace events (chrome://tracing, ui.perfetto.dev): one complete event per handled
/// message, an actor being a thread. Stops after `most_events`, with a last event that says so;
/// what a killed process leaves can be opened all the same.
Result<std::unique_ptr<Tap>> make_trace_tap(const std::string& path,
                                            uint64_t most_events = 1'000'000);

}  // namespace warpsmith::actors
