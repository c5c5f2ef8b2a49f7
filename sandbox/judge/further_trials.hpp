// SPDX-License-Identifier: Apache-2.0
// Calls the further baselines at ingest: checks that they agree with eager, and times them.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "sandbox/judge/bench.hpp"
#include "sandbox/judge/ingest_record.hpp"
#include "sandbox/reference/baseline.hpp"
#include "sandbox/timing/call_meter.hpp"

namespace warpsmith::sandbox {

/// Calls a further baseline once on buffer set `set`. Returns milliseconds; empty if it failed and
/// was dropped. An error means that the worker ended too; the baseline is dropped at the second
/// one, or if it did not return in time.
OrFailure<std::optional<double>> call_further(Baseline which, uint32_t set, WorkerSession& session,
                                              const CallMeter& meter, FurtherBaselines& further,
                                              Patience patience);

/// What the calls of one ingest use. All of it outlives the trials.
struct TrialContext {
  WorkerSession& session;
  Bench& bench;
  const CallMeter& meter;
  const Patience& patience;
};

class FurtherTrials {
 public:
  FurtherTrials(const TrialContext& context, FurtherBaselines& further)
      : context_(context), further_(further) {}

  /// Compares with eager's outputs, which the bench keeps for set 0. Drops a baseline that differs.
  OrFailure<void> check(const BoundRule& bound);
  /// Times each once on set 0, after `prepare` has written new contents there.
  OrFailure<void> time_each(const std::function<OrFailure<void>()>& prepare);
  /// Facts of every wanted baseline, after at least one `time_each`.
  std::vector<BaselineFacts> facts() const;

 private:
  OrFailure<std::optional<double>> call(Baseline which);

  TrialContext context_;
  FurtherBaselines& further_;
  std::map<Baseline, std::vector<double>> times_;
};

}  // namespace warpsmith::sandbox
