// SPDX-License-Identifier: Apache-2.0
// Pure: idle shares, queues and tokens per second of all actors over one optimiser step.
#pragma once

#include <map>
#include <string>

#include "actors/protocol/messages.hpp"

namespace warpsmith::actors {

/// Collects observations of running totals, and computes their increase since the last step.
/// Bounded by the number of actors.
class StepTelemetry {
 public:
  void observe(const Observation& seen);
  /// Per actor "NAME.idle" (0…1), "NAME.queued" (latest) and, if it counts `sampled_tokens` or
  /// `trained_tokens`, "NAME.tokens_per_s"; all since the last call. Leaves out actors without an
  /// observation since then.
  std::map<std::string, double> take();

 private:
  using Values = std::map<std::string, double>;
  struct Span {
    Values begin, end;
  };

  std::map<std::string, Span> spans_;  // by actor
};

}  // namespace warpsmith::actors
