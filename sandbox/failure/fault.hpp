// SPDX-License-Identifier: Apache-2.0
// What is wrong with a process that the judge runs.
#pragma once

#include <string>

#include "runtime/verdict.hpp"
#include "sandbox/failure/failure.hpp"

namespace warpsmith::sandbox {

/// Why a contestant is of no further use: a failing verdict class and one short sentence. The class
/// becomes a verdict only where the candidate is to blame.
struct Fault {
  VerdictClass outcome = VerdictClass::device_fault;
  std::string detail;
  Blame blame = Blame::candidate;
};

/// The failure for a fault that becomes no verdict.
Failure failure_of(const Fault& fault, const std::string& place);

}  // namespace warpsmith::sandbox
