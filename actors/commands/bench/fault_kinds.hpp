// SPDX-License-Identifier: Apache-2.0
// What can go wrong beside an honest evaluation: submissions that fault, and pieces that are
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

namespace warpsmith::actors {

/// What of a slot gets SIGKILL while it works.
enum class Piece : uint8_t { candidate, reference_worker, compiler, service };
std::string_view to_string(Piece piece) noexcept;

/// One way to go wrong: a submission for `fault_task`, or a piece that is killed under an honest
/// evaluation, whose verdict must then be the undisturbed one.
struct FaultKind {
  std::string name;
  std::set<VerdictClass> expected;  // of a submission
  FileSet files;                    // of a submission
  std::optional<Piece> strikes;
};

/// The task that faulty submissions claim to solve: y = 2 x + 1 over [256, 1024].
Task fault_task(const std::string& contract);

/// An honest solution of it.
FileSet honest_fault_files(const std::string& contract);

/// All kinds of contract `cpu` or `device`.
std::vector<FaultKind> fault_kinds(const std::string& contract);

}  // namespace warpsmith::actors
