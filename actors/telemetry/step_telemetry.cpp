// SPDX-License-Identifier: Apache-2.0
#include "actors/telemetry/step_telemetry.hpp"

#include <algorithm>

namespace warpsmith::actors {
namespace {

constexpr size_t most_actors = 1024;

double value(const std::map<std::string, double>& values, const char* name) {
  const auto found = values.find(name);
  return found == values.end() ? 0.0 : found->second;
}

}  // namespace

void StepTelemetry::observe(const Observation& seen) {
  if (spans_.size() >= most_actors && !spans_.contains(seen.source)) return;
  Span& span = spans_[seen.source];
  // A restarted actor counts from zero.
  if (value(seen.values, "alive_s") < value(span.begin, "alive_s")) span.begin.clear();
  span.end = seen.values;
}

std::map<std::string, double> StepTelemetry::take() {
  std::map<std::string, double> out;
  for (auto& [actor, span] : spans_) {
    const auto gained = [&seen = span](const char* name) {
      return value(seen.end, name) - value(seen.begin, name);
    };
    const double seconds = gained("alive_s");
    if (seconds <= 0) continue;
    out[actor + ".idle"] = std::clamp(1 - gained("busy_s") / seconds, 0.0, 1.0);
    out[actor + ".queued"] = value(span.end, "queued");
    for (const char* counter : {"sampled_tokens", "trained_tokens"}) {
      if (span.end.contains(counter)) out[actor + ".tokens_per_s"] = gained(counter) / seconds;
    }
    span.begin = span.end;
  }
  return out;
}

}  // namespace warpsmith::actors
