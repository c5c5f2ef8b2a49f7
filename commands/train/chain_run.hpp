// SPDX-License-Identifier: Apache-2.0
// A chain: stages one after the other in one run folder, each an ordinary run in stages/N-NAME.
#pragma once

#include "commands/train/stage_end.hpp"
#include "runtime/config/chain_config.hpp"

namespace warpsmith::commands {

/// Runs the stages of `config` (run.stages) in order. Each starts from what the earlier ones made.
/// A resume skips the finished ones and goes on in the middle of the interrupted one. Checks all
/// stages first; a refused resume leaves the folder as it was. Prints a table of all stages at the
/// end, and writes it to table.txt. Files of the run folder: config.toml, of the chain;
/// stages/N-NAME.toml, the whole configuration of a stage, with what its own table names;
/// stages/N-NAME/, its run; stages/N-NAME.json, what it made, written when it is complete.
ExitCode run_chain(const RunConfig& config, const RunPlace& place, const Output& output,
                   const std::vector<std::string>& overrides);

/// The stages of a new chain, or of the one to resume.
Result<std::vector<ChainStage>> stages_of(const RunConfig& config, const RunPlace& place,
                                          const std::vector<std::string>& overrides);

}  // namespace warpsmith::commands
