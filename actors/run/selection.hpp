// SPDX-License-Identifier: Apache-2.0
// The collected trajectories that a stage learns from, and why the others are left out. A stage
// stores its selection, so that a resume learns from the same ones even if a run in progress has
// more by then.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "actors/run/model_text.hpp"
#include "policy/learn/stages/sft.hpp"
#include "policy/learn/stages/value.hpp"
#include "runtime/config/run_config.hpp"

namespace warpsmith::actors {

/// The selection from one run.
struct SourceSelection {
  std::filesystem::path run;
  std::vector<TrajectoryId> kept;
  std::map<std::string, std::vector<TrajectoryId>> rejected;  // by reason
  size_t silenced = 0;  // turns of kept ones that lose their loss for an invalid call
};
using Selection = std::vector<SourceSelection>;

/// Filters the closed trajectories of `config.rft.runs`. Fails if none is kept, with the count of
/// each reason, and as `open_sources` does.
Result<Selection> select_for_rft(const RunConfig& config);

/// All closed trajectories of `config.value.runs`.
Result<Selection> select_for_value(const RunConfig& config);

/// Checks the runs that the stage of `config` names, as the two above do. Succeeds if it names
/// none, since an earlier stage may still collect.
Result<void> check_sources(const RunConfig& config);

/// The number kept, and the text "12 kept; rejected: reward 30, stalled 2; 3 turns without loss".
size_t kept_in(const Selection& selection);
std::string selection_text(const Selection& selection);
/// Warns if less than a tenth is kept; else empty.
std::string thin_text(const Selection& selection);

std::string to_json(const Selection& selection);
/// `parse_failed` says what is wrong with the text.
Result<Selection> selection_from_json(std::string_view text);

/// The kept trajectories for supervised learning: the loss is on sampled tokens only, without those
/// of turns with an invalid call. Only `rft.invalid_calls` decides which trajectories are kept.
Result<std::vector<policy::Conversation>> conversations_of(const Selection& selection,
                                                           const RunConfig& config);

/// The kept trajectories with their rewards, less `learner.overlong`'s penalty.
Result<std::vector<policy::ValueExample>> examples_of(const Selection& selection,
                                                      const RunConfig& config);

}  // namespace warpsmith::actors
