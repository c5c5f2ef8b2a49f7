// SPDX-License-Identifier: Apache-2.0
// A trajectory and its outcome, as the ledger records them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

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
  no_answer,  // the brain's endpoint or folder has none for it
};
inline constexpr size_t drop_reason_count = 6;
std::string_view to_string(DropReason reason) noexcept;
/// The reason of a stored name; nullopt if there is none of that name.
std::optional<DropReason> drop_reason_of(std::string_view name) noexcept;

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

  template <class Archive>
  void serialize(Archive& archive) {
    archive(reward, verdict, source_hash, turns, tool_calls, truncated, speedup_eager,
            speedup_compile);
  }
};

/// The outcome's verdict in records and statistics: its class, or "no_submission".
std::string_view verdict_name(const Outcome& outcome) noexcept;
/// Sets the verdict by such a name. False, and no verdict, for any other name.
bool set_verdict(Outcome& outcome, std::string_view name) noexcept;

/// A whole trajectory, as the learner trains it: its segments in order, then the outcome.
struct Trajectory {
  TrajectoryId id = 0;
  std::string task_id;
  std::vector<Segment> segments;
  Outcome outcome;

  template <class Archive>
  void serialize(Archive& archive) {
    archive(id, task_id, segments, outcome);
  }
};

}  // namespace warpsmith
