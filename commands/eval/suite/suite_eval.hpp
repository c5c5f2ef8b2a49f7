// SPDX-License-Identifier: Apache-2.0
// `eval --suite`, `--resume` and `--report`: evaluates the tasks of a folder and writes the table.
#pragma once

#include <functional>
#include <string>

#include "commands/command.hpp"
#include "commands/eval/suite/suite_sampling.hpp"

namespace warpsmith::commands {

struct SuiteArguments {
  std::string suite, resume, report;  // a folder and two runs; at least one is given
  std::string against;                // a run to compare with; empty: none
  int64_t samples = 1;
  bool mix_stacks = false, json = false;
};

/// Reads the configuration of a new evaluation; its tasks are those of the suite.
using LoadEvalConfig = std::function<Result<RunConfig>()>;

ExitCode evaluate_suite(const SuiteArguments& args, const LoadEvalConfig& load,
                        const RunTreeUntilDone& run);

}  // namespace warpsmith::commands
