// SPDX-License-Identifier: Apache-2.0
// A chain: stages one after the other in one run folder, each an ordinary run in stages/N-NAME;
// all of them are checked before the first one runs.
#pragma once

#include <functional>

#include "commands/train/stage_files.hpp"
#include "commands/train/stage_run.hpp"
#include "runtime/config/chain_config.hpp"

namespace warpsmith::commands {

/// Runs the stages of `config` (run.stages) in order. Each starts from what the earlier ones made.
/// A resume skips the finished ones and continues the interrupted one where it stopped. Checks all
/// stages first; a refused resume leaves the folder as it was. Prints a table of all stages at the
/// end, and writes it to table.txt. Files of the run folder: config.toml, of the chain;
/// stages/N-NAME.toml, the whole configuration of a stage, with what its own table names;
/// stages/N-NAME/, its run; stages/N-NAME.json, what it made, written when it is complete.
ExitCode run_chain(const RunConfig& config, const RunPlace& place, const Output& output,
                   const std::vector<std::string>& overrides);

/// The stages of a new chain, or of the one to resume.
Result<std::vector<ChainStage>> stages_of(const RunConfig& config, const RunPlace& place,
                                          const std::vector<std::string>& overrides);

/// Takes a stage's name, its configuration, and what it may rely on when it starts.
using StageVisitor =
    std::function<Result<void>(const std::string&, const RunConfig&, const StageStart&)>;

/// Calls `visit` for each stage that is not finished, with what is known of its configuration and
/// its start before the earlier stages have run. The first failure ends the walk and names its
/// stage. `folder`: of the chain to resume; empty for a new one. Writes nothing.
Result<void> visit_unfinished_stages(const std::vector<ChainStage>& stages,
                                     const std::filesystem::path& folder,
                                     const StageVisitor& visit);

}  // namespace warpsmith::commands
