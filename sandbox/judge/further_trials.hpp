// SPDX-License-Identifier: Apache-2.0
// Ingest's calls of the further baselines: do they agree with eager, and how long do they take?
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "sandbox/judge/bench.hpp"
#include "sandbox/judge/ingest_record.hpp"
#include "sandbox/reference/further_baselines.hpp"
#include "sandbox/timing/call_meter.hpp"

namespace warpsmith::sandbox {

/// One call of a further baseline on buffer set `set`: milliseconds, or nothing where it failed and
/// was dropped. An error: the worker ended too, after which it is dropped by the second time.
Result<std::optional<double>> call_further(Baseline which, uint32_t set, WorkerSession& session,
                                           const CallMeter& meter, FurtherBaselines& further,
                                           Deadline deadline);

/// What the calls of one ingest go through. All of it outlives the trials.
struct TrialPlace {
  WorkerSession& session;
  Bench& bench;
  const CallMeter& meter;
  Deadline deadline;
};

class FurtherTrials {
 public:
  FurtherTrials(const TrialPlace& place, FurtherBaselines& further)
      : place_(place), further_(further) {}

  /// Eager's outputs lie in set 0 of the worker's; set 1 is written. What differs is dropped.
  Result<void> check(const BoundRule& bound);
  /// Each once, on set 0; `prepare` writes fresh contents there.
  Result<void> time_each(const std::function<Result<void>()>& prepare);
  /// Of every wanted one, after at least one `time_each`.
  std::vector<BaselineFacts> facts() const;

 private:
  Result<std::optional<double>> call(Baseline which);

  TrialPlace place_;
  FurtherBaselines& further_;
  std::map<Baseline, std::vector<double>> times_;
};

}  // namespace warpsmith::sandbox
