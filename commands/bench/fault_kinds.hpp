// SPDX-License-Identifier: Apache-2.0
// The faults beside an honest evaluation: submissions that misbehave, and processes that are
// killed.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "runtime/submission.hpp"
#include "runtime/task.hpp"
#include "runtime/verdict.hpp"

namespace warpsmith::commands {

/// The process of a slot that gets SIGKILL while it works.
enum class Piece : uint8_t { candidate, reference_worker, compiler, service };
std::string_view to_string(Piece piece) noexcept;

/// One kind of fault: a submission for `fault_task`, or a process that is killed during an honest
/// evaluation, whose verdict must then be the undisturbed one.
struct FaultKind {
  std::string name;
  std::set<VerdictClass> expected;  // for a submission
  FileSet files;                    // for a submission
  std::optional<Piece> strikes;     // the process to kill
};

/// The task of faulty submissions: y = 2 x + 1 over [256, 1024].
Task fault_task(const std::string& contract);

/// An honest solution of `fault_task`.
FileSet honest_fault_files(const std::string& contract);

/// All kinds for contract `cpu` or `device`.
std::vector<FaultKind> fault_kinds(const std::string& contract);

}  // namespace warpsmith::commands
