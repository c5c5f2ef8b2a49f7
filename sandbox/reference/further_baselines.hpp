// SPDX-License-Identifier: Apache-2.0
// The further baselines of one task, and why it lacks some. A task is judged without those.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "runtime/clock.hpp"
#include "runtime/result.hpp"
#include "runtime/task.hpp"
#include "sandbox/protocol/progress.hpp"
#include "sandbox/reference/baseline.hpp"
#include "sandbox/reference/worker.hpp"

namespace warpsmith::sandbox {

class FurtherBaselines {
 public:
  FurtherBaselines() = default;
  explicit FurtherBaselines(std::vector<Baseline> wanted) : wanted_(std::move(wanted)) {}

  const std::vector<Baseline>& wanted() const { return wanted_; }
  bool has(Baseline which) const;
  /// Wanted and not dropped, in the order of the enumeration.
  std::vector<Baseline> left() const;
  /// Does without a baseline from now on. The first reason stays.
  void drop(Baseline which, std::string reason);
  /// Counts a worker that ended while the baseline was made ready or called. The second time drops
  /// the baseline; the first may be chance.
  void worker_ended(Baseline which, const std::string& reason);
  /// Why it was dropped; empty if it was not.
  std::string reason(Baseline which) const;

 private:
  std::vector<Baseline> wanted_;
  std::map<Baseline, std::string> dropped_;
  std::map<Baseline, int> ended_;
};

/// Makes the remaining baselines ready in a worker that holds the task. Each may take half of the
/// remaining time; the first one of a new software stack takes minutes. A baseline that fails is
/// dropped. An error means that the worker has ended or must be ended; if a baseline was the cause,
/// it is dropped by the second time at the latest. `seconds` receives the time of each one.
OrFailure<void> make_ready(ReferenceWorker& worker, const Task& task, FurtherBaselines& further,
                           Patience patience, const Progress& progress,
                           std::map<Baseline, double>* seconds = nullptr);

/// `ReferenceWorker::enter`. Drops baseline `graphed` if its graphs do not fit the device's memory.
OrFailure<WorkerSession> enter_with(ReferenceWorker& worker, const Task& task,
                                    const SessionMemory& memory, SessionOptions options,
                                    FurtherBaselines& further, Patience patience);

}  // namespace warpsmith::sandbox
