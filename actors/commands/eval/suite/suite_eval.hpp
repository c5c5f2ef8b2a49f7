// SPDX-License-Identifier: Apache-2.0
// `eval --suite`, `--resume` and `--report`: evaluates the tasks of a folder and writes the table.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "actors/commands/command.hpp"
#include "actors/commands/run_loop.hpp"
#include "actors/run/run_inputs.hpp"

namespace warpsmith::actors {

struct SuiteArguments {
  std::string suite, resume, report;  // a folder and two runs; at least one is given
  std::string against;                // a run to compare with; empty: none
  int64_t samples = 1;
  bool mix_stacks = false, json = false;
};

/// Runs the actors until the samples are judged.
using RunTreeUntilDone = std::function<LoopResult(const std::shared_ptr<const RunInputs>&)>;
/// Reads the configuration of a new evaluation; its tasks are those of the suite.
using LoadEvalConfig = std::function<Result<RunConfig>()>;

ExitCode evaluate_suite(const SuiteArguments& args, const LoadEvalConfig& load,
                        const RunTreeUntilDone& run);

}  // namespace warpsmith::actors
