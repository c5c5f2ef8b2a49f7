// SPDX-License-Identifier: Apache-2.0
// `runs show` of a chain and of a stage that learns from given data, which have no database.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "commands/runs/chain_table.hpp"
#include "runtime/config/run_config.hpp"
#include "runtime/run/run_folder.hpp"
#include "runtime/run/run_queries.hpp"

namespace warpsmith::commands {

/// What a stage that learns from given data has recorded.
struct DataFigures {
  int64_t step = 0;
  int64_t steps = 0;                          // planned; 0: not known
  double seconds_per_step = 0;                // 0: not known
  std::map<std::string, double> first, last;  // of the first and the last step, by name
  std::vector<double> losses;                 // of each step
  std::string selection;                      // what it learns from; empty unless it selects
};

/// A run of a stage, by itself or in a chain.
struct StageView {
  std::string name;
  RunPaths paths;
  bool begun = false;
  RunStatus status;
  Stage kind = Stage::sft;
  std::optional<StageRecord> record;  // of a chain's finished stage
  std::optional<DataFigures> data;    // of a stage that learns from given data
  std::optional<RunSummary> summary;  // of a stage that samples
};

struct ChainView {
  RunPaths paths;
  RunStatus status;
  std::vector<StageView> stages;
};

/// Reads what is on disk, without disturbing the run's owner.
Result<StageView> read_stage(const RunPaths& paths);
Result<ChainView> read_chain(const RunPaths& paths);

/// "2 of 5 stages finished; next: rft".
std::string summary_text(const ChainView& chain);
/// "step 12 of 40, loss 3.20 > 2.10, about 3m10s left": steps, loss, explained variance and, while
/// it runs, the time left.
std::string progress_text(const StageView& stage);

/// Pages for readers.
std::string page_text(const StageView& stage);
std::string page_text(const ChainView& chain);

/// The same for programs, on one line.
std::string view_json(const StageView& stage);
std::string view_json(const ChainView& chain);

}  // namespace warpsmith::commands
