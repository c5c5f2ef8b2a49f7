// SPDX-License-Identifier: Apache-2.0
// Failures of judging, each with its cause, and faults of the processes that the judge runs. Pure.
#pragma once

#include <cstdint>
#include <string>

#include "runtime/result.hpp"
#include "runtime/task.hpp"
#include "runtime/verdict.hpp"

namespace warpsmith::sandbox {

/// What caused a failure. It is set where the failure happens; `RetryPolicy` decides what follows.
enum class Blame : uint8_t {
  candidate,  // the submission's code failed, or used up its own time limit
  task,       // the task cannot be judged, or used up its own time limit
  machine,    // a process, device or disk failed; another try may succeed
  deadline,   // the caller's time ran out
};

struct Failure {
  Blame blame = Blame::machine;
  ErrorCode code = ErrorCode::infrastructure;
  std::string message;

  Failure() = default;
  Failure(Blame whose, ErrorCode what, std::string text)
      : blame(whose), code(what), message(std::move(text)) {}
  /// An error of a lower layer: a wait until the caller's deadline, else a fault of the machine.
  Failure(Error error)
      : Failure(error.code == ErrorCode::timeout ? Blame::deadline : Blame::machine, error.code,
                std::move(error.message)) {}

  /// The task is refused for what it is; it did not use up a time limit.
  bool is_refusal() const { return blame == Blame::task && code == ErrorCode::invalid_argument; }
};

template <class T>
using OrFailure = tl::expected<T, Failure>;

using warpsmith::fail;
/// Adds the place that the failure passed through.
tl::unexpected<Failure> fail(const std::string& place, Failure failure);

/// Blames the task.
Failure refusal(std::string why);

/// The failure with the task's file, or its name, in front, and with the file's name where the
/// reference worker wrote its own, task.py.
Failure named(Failure failure, const Task& task);

/// What the caller of an evaluation gets.
InfraFailure infra_of(const Failure& failure);

/// What the caller of an ingest gets: `invalid_argument` for a refused task.
Error error_of(Failure failure);

/// Why a contestant is of no further use: a failing verdict class and one short sentence. The class
/// becomes a verdict only if the candidate is to blame.
struct Fault {
  VerdictClass outcome = VerdictClass::device_fault;
  std::string detail;
  Blame blame = Blame::candidate;
};

/// The failure for a fault that becomes no verdict.
Failure failure_of(const Fault& fault, const std::string& place);

}  // namespace warpsmith::sandbox
