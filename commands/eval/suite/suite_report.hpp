// SPDX-License-Identifier: Apache-2.0
// Reads the table of a suite from a run folder, and writes it as report.csv, .json and .html there.
#pragma once

#include "commands/eval/suite/suite_table.hpp"
#include "runtime/run/run_folder.hpp"

namespace warpsmith::commands {

/// What the run was measured on. A run that was resumed on other stacks names all of them.
Result<StackIdentity> read_stack(const RunPaths& paths, const SuitePlan& plan);

Result<SuiteReport> read_suite_report(const RunPaths& paths);
/// With `before`, report.json and .html hold the comparison too.
Result<void> write_suite_report(const RunPaths& paths, const SuiteReport& report,
                                const SuiteReport* before = nullptr);

}  // namespace warpsmith::commands
