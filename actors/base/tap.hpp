// SPDX-License-Identifier: Apache-2.0
// Taps: hooks that see every delivery, including answers. One tap writes the trace; tests use
// others to inject faults.
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

/// When one handler ran.
struct HandlerTime {
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
  virtual void handled(const Delivery& /*delivery*/, const HandlerTime& /*time*/) {}
};

/// A tap that does nothing.
std::unique_ptr<Tap> make_silent_tap();

/// Writes Chrome's trace events (chrome://tracing, ui.perfetto.dev): one complete event per handled
/// message, one thread per actor. After `most_events` it writes a last event that says so. The file
/// of a killed process can also be opened.
Result<std::unique_ptr<Tap>> make_trace_tap(const std::string& path,
                                            uint64_t most_events = 1'000'000);

}  // namespace warpsmith::actors
