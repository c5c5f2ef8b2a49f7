// SPDX-License-Identifier: Apache-2.0
// The further baselines of one task: those that it can be timed against, and why it lacks the
// others. A task that lacks one is judged without it.
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
  /// Goes without one from now on. The first reason stays.
  void drop(Baseline which, std::string reason);
  /// A worker ended while it was made ready or called: the first time that may be chance, the
  /// second time it is dropped.
  void worker_ended(Baseline which, const std::string& reason);
  /// Why it was dropped; empty if it was not.
  std::string reason(Baseline which) const;

 private:
  std::vector<Baseline> wanted_;
  std::map<Baseline, std::string> dropped_;
  std::map<Baseline, int> ended_;
};

/// Makes those that are left ready in a worker that holds the task; each may take half of the time
/// that is left, for the first time of a stack it takes minutes. One that cannot be had is dropped.
/// An error: the worker ended, or is to be ended because that time ran out. Where the baseline was
/// the cause, a fresh worker goes without it, by the second time at the latest.
/// `seconds` hears how long each one took.
Result<void> make_ready(ReferenceWorker& worker, const Task& task, FurtherBaselines& further,
                        Deadline deadline, const Progress& progress,
                        std::map<Baseline, double>* seconds = nullptr);

/// `ReferenceWorker::enter`; where a graph per buffer set does not fit the device's memory, the
/// graphs are dropped.
Result<WorkerSession> enter_with(ReferenceWorker& worker, const Task& task,
                                 const SessionMemory& memory, SessionOptions options,
                                 FurtherBaselines& further, Deadline deadline);

}  // namespace warpsmith::sandbox
