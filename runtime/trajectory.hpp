// SPDX-License-Identifier: Apache-2.0
// A trajectory and its outcome, as the ledger records them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/describe.hpp"
#include "runtime/segment.hpp"
#include "runtime/verdict.hpp"

namespace warpsmith {

/// Why a trajectory was dropped instead of trained. Each reason is counted.
enum class DropReason : uint8_t {
  stale,
  infrastructure,
  cancelled,
  too_long,
  no_action_tokens,
  no_answer,  // the brain's endpoint or folder has no answer for it
};
constexpr auto names_of(DropReason) {
  return std::to_array<std::string_view>(
      {"stale", "infrastructure", "cancelled", "too_long", "no_action_tokens", "no_answer"});
}

/// How a trajectory ended, before it is trained.
struct Outcome {
  double reward = 0;  // finite; milestones of the reward rule (−1, 1, 2, 3) by default
  std::optional<VerdictClass> verdict;  // empty: nothing was submitted
  std::string source_hash;              // hash of the final submission; empty if there is none
  uint32_t turns = 0;
  uint32_t tool_calls = 0;
  bool truncated = false;  // ended by a limit on turns or tokens
  /// The lower end of the speed-up's interval, which the reward is based on; the lowest over the
  /// shapes. Empty if the submission is not correct or a shape was not measured.
  std::optional<double> speedup_eager, speedup_compile;

  WARPSMITH_RECORD(reward, verdict, source_hash, turns, tool_calls, truncated, speedup_eager,
                   speedup_compile)
};

inline constexpr std::string_view no_submission = "no_submission";

/// The outcome's verdict in records and statistics: its class, or "no_submission".
inline std::string_view verdict_name(const Outcome& outcome) noexcept {
  return outcome.verdict ? to_string(*outcome.verdict) : no_submission;
}

/// A whole trajectory, as the learner trains it: its segments in order, then the outcome.
struct Trajectory {
  TrajectoryId id = 0;
  std::string task_id;
  std::vector<Segment> segments;
  Outcome outcome;

  WARPSMITH_RECORD(id, task_id, segments, outcome)
};

}  // namespace warpsmith
