// SPDX-License-Identifier: Apache-2.0
// What a run of random faults showed, and whether every bar was met. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "runtime/verdict.hpp"

namespace warpsmith::actors {

/// A verdict as far as it must not depend on what happens beside it.
struct JudgedOutcome {
  std::string outcome;  // class, or kind of failure
  std::vector<std::string>
      sets;          // of a pass: distribution and what was wrong, in alphabetical order
  std::string said;  // feedback or detail; not compared

  bool same_as(const JudgedOutcome& other) const {
    return outcome == other.outcome && sets == other.sets;
  }
};

JudgedOutcome judged(const Judgement& judgement);

/// One kind of fault over the run.
struct KindFigures {
  int64_t count = 0, unexpected = 0;
  std::map<std::string, int64_t> got;  // class or kind of failure → how many
  double ms = 0;                       // until each was answered, together
};

/// What was still there when all services had ended.
struct Remains {
  std::vector<std::string> zombies, processes, groups, files;
  std::optional<uint64_t> free_bytes_before, free_bytes_after;  // of all GPUs used; none: no GPU

  /// Device memory that did not come back.
  uint64_t missing_bytes() const;
};

struct FaultFigures {
  int64_t honest = 0, honest_equal = 0;     // evaluations, and those like the undisturbed one
  int64_t beside_faults = 0;                // of `honest`: a fault was in hand meanwhile
  int64_t struck = 0, struck_equal = 0;     // evaluations of which a piece was killed
  int64_t missed = 0;                       // kills that came when the piece was gone
  int64_t repeats = 0;                      // evaluations asked again after a failure of ours
  std::map<std::string, int64_t> failures;  // kind of failure → how often
  std::map<std::string, KindFigures> kinds;
  std::map<std::string, std::string> refused;  // task, which was left out → why
  std::vector<std::string> differences;        // what differed, or was unexpected, in words
  int64_t processes_seen = 0;
  double seconds = 0;
  Remains remains;

  int64_t faults() const;
  int64_t unexpected() const;
  bool meets_bars() const;
};

/// Contexts of the driver's own may grow by this much.
inline constexpr uint64_t device_slack_bytes = 64ULL << 20U;

}  // namespace warpsmith::actors
