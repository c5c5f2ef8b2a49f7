// SPDX-License-Identifier: Apache-2.0
// The table of a chain: a line per stage. Pure.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/result.hpp"
#include "runtime/trajectory.hpp"

namespace warpsmith::commands {

/// What a finished stage leaves to the later ones and to the table.
struct StageRecord {
  std::string name;    // as in run.stages
  std::string kind;    // "sft", …
  std::string run;     // its folder
  std::string model;   // the policy after it; empty: as before
  std::string critic;  // empty: as before
  std::map<std::string, double>
      figures;  // see `figures_of`; those that it does not have are left out
};

std::string to_json(const StageRecord& record);
Result<StageRecord> stage_record_from_json(std::string_view text);

/// Means over the newest `window` outcomes: "reward", "pass_rate", "faster_eager",
/// "faster_compile", "truncated"; none without outcomes.
std::map<std::string, double> figures_of(const std::vector<Outcome>& outcomes, size_t window);

/// Columns: stage, trajectories, steps, reward, correct, faster than eager and than compile,
/// explained variance (first > last step), entropy, clipped answers. "-" stands for what a stage
/// does not have.
std::string table_text(const std::vector<StageRecord>& records);

}  // namespace warpsmith::commands
