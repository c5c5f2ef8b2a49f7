// SPDX-License-Identifier: Apache-2.0
// What a chain keeps of its stages: the places of their files, their records and the table, a line
// for each. Pure.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/result.hpp"
#include "runtime/trajectory.hpp"

namespace warpsmith::commands {

/// The files of one stage of a chain, named after its position.
struct StagePaths {
  std::filesystem::path root;  // stages/ of the chain
  std::string name;            // "2-warmup"

  std::filesystem::path run() const { return root / name; }
  std::filesystem::path config() const { return root / (name + ".toml"); }
  std::filesystem::path record() const { return root / (name + ".json"); }
};

StagePaths stage_paths(const std::filesystem::path& chain, size_t index, const std::string& name);

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

/// Warns of a stage that sampled and solved next to nothing, so that later stages have hardly
/// anything to learn from; empty if it did better.
std::string warning_of(const StageRecord& record);

/// Columns: stage, trajectories, steps, reward, correct, faster than eager and than compile,
/// explained variance (first > last step), entropy, clipped answers. "-" stands for what a stage
/// does not have.
std::string table_text(const std::vector<StageRecord>& records);

}  // namespace warpsmith::commands
