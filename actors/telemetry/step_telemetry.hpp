// SPDX-License-Identifier: Apache-2.0
// What the actors' numbers say of one optimiser step: idle shares, queues, tokens per second. Pure.
#pragma once

#include <map>
#include <string>

#include "actors/protocol/messages.hpp"

namespace warpsmith::actors {

/// Collects observations, each with running totals, and gives their gain since the last step.
/// Bounded by the number of actors.
class StepTelemetry {
 public:
  void observe(const Observation& seen);
  /// Per actor "NAME.idle" (0…1), "NAME.queued" (when last asked) and, for those that count
  /// `sampled_tokens` or `trained_tokens`, "NAME.tokens_per_s"; all since the last call. Nothing of
  /// an actor that was not heard of in between.
  std::map<std::string, double> take();

 private:
  using Values = std::map<std::string, double>;
  struct Span {
    Values begin, end;
  };

  std::map<std::string, Span> spans_;  // by actor
};

}  // namespace warpsmith::actors
