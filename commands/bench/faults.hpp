// SPDX-License-Identifier: Apache-2.0
// The faults of `warpsmith bench faults` (submissions that misbehave, processes that are killed),
// and the figures of a run with them. Pure.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "runtime/describe.hpp"
#include "runtime/submission.hpp"
#include "runtime/task.hpp"
#include "runtime/verdict.hpp"

namespace warpsmith::commands {

/// A process of a slot that gets SIGKILL during an evaluation.
enum class SlotProcess : uint8_t { candidate, reference_worker, compiler, service };
constexpr auto names_of(SlotProcess) {
  return std::to_array<std::string_view>({"candidate", "reference_worker", "compiler", "service"});
}

/// One kind of fault: a submission for `fault_task`, or a process that is killed during an honest
/// evaluation, whose verdict must then be the undisturbed one.
struct FaultKind {
  std::string name;
  std::set<VerdictClass> expected;   // for a submission
  FileSet files;                     // for a submission
  std::optional<SlotProcess> kills;  // the process to kill
};

/// The task of faulty submissions: y = 2 x + 1 over [256, 1024].
Task fault_task(const std::string& contract);

/// An honest solution of `fault_task`.
FileSet honest_fault_files(const std::string& contract);

/// All kinds for contract `cpu` or `device`.
std::vector<FaultKind> fault_kinds(const std::string& contract);

/// The part of a verdict that must not depend on other work on the machine.
struct JudgedOutcome {
  std::string outcome;            // class, or kind of failure
  std::vector<std::string> sets;  // if passed: distribution and error counts of each set, sorted
  std::string text;               // feedback or detail; not compared

  bool same_as(const JudgedOutcome& other) const {
    return outcome == other.outcome && sets == other.sets;
  }
};

JudgedOutcome judged(const Judgement& judgement);

/// The figures of one kind of fault.
struct KindFigures {
  int64_t count = 0, unexpected = 0;
  std::map<std::string, int64_t> got;  // class or kind of failure → count
  double ms = 0;                       // total time until they were answered
};

/// Everything that was left after all services had ended.
struct Leftovers {
  std::vector<std::string> zombies, processes, groups, files;
  std::optional<uint64_t> free_bytes_before,
      free_bytes_after;  // of all GPUs used; none without one

  /// Device memory that was not returned.
  uint64_t missing_bytes() const;
};

struct FaultFigures {
  int64_t honest = 0, honest_equal = 0;     // evaluations, and those with their undisturbed verdict
  int64_t beside_faults = 0;                // of `honest`, those with a fault at the same time
  int64_t killed = 0, killed_equal = 0;     // evaluations with a process killed
  int64_t missed = 0;                       // kills that came after the process had ended
  int64_t repeats = 0;                      // evaluations repeated after an infrastructure failure
  std::map<std::string, int64_t> failures;  // kind of infrastructure failure → count
  std::map<std::string, KindFigures> kinds;
  std::map<std::string, std::string> refused;  // task that was left out → reason
  std::vector<std::string> differences;        // descriptions of what differed or was unexpected
  int64_t processes_seen = 0;
  double seconds = 0;
  Leftovers leftovers;

  int64_t faults() const;
  int64_t unexpected() const;
  bool meets_bars() const;
};

/// How much memory the driver's own contexts may take in addition.
inline constexpr uint64_t device_slack_bytes = 64ULL << 20U;

}  // namespace warpsmith::commands
