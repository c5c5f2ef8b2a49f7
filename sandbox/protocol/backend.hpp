// SPDX-License-Identifier: Apache-2.0
// What judges kernels: the evaluator in a sandbox service, and the client of such a service.
#pragma once

#include "runtime/clock.hpp"
#include "runtime/result.hpp"
#include "runtime/task.hpp"
#include "runtime/verdict.hpp"
#include "sandbox/protocol/requests.hpp"

namespace warpsmith::sandbox {

/// Judges kernels on one device: an evaluator, or the client of a service that holds one. Used by
/// one thread. Every call returns at its deadline plus a second.
class Backend {
 public:
  Backend() = default;
  Backend(const Backend&) = delete;
  Backend& operator=(const Backend&) = delete;
  virtual ~Backend() = default;

  /// A verdict, or a failure that is not the candidate's. Ingests the task first if need be.
  virtual Judgement evaluate(const EvaluateRequest& request, Deadline deadline) = 0;
  /// Measures a task, or reads what was measured on this machine and stack. `invalid_argument`,
  /// with the reason, for a refused task.
  virtual Result<TaskFacts> ingest(const Task& task, Deadline deadline) = 0;
  /// True when every later call would fail: the owner then makes another backend.
  virtual bool lost() const { return false; }
  /// Sets the receiver of progress of the calls, which it gets on their thread. Optional.
  virtual void on_progress(Progress /*progress*/) {}  // NOLINT(performance-unnecessary-value-param)

 protected:
  Backend(Backend&&) = default;
  Backend& operator=(Backend&&) = default;
};

}  // namespace warpsmith::sandbox
