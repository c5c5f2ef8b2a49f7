// SPDX-License-Identifier: Apache-2.0
// Failures of judging, each with its blame.
#pragma once

#include <string>

#include "runtime/result.hpp"
#include "runtime/task.hpp"
#include "runtime/verdict.hpp"
#include "sandbox/failure/blame.hpp"

namespace warpsmith::sandbox {

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

/// The failure with the task's file, or its name, in front.
Failure named(Failure failure, const Task& task);

/// What the caller of an evaluation gets.
InfraFailure infra_of(const Failure& failure);

/// What the caller of an ingest gets: `invalid_argument` for a refused task.
Error error_of(Failure failure);

}  // namespace warpsmith::sandbox
