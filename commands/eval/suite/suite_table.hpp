// SPDX-License-Identifier: Apache-2.0
// Writes the table of a suite: for a terminal, as CSV and as JSON. Pure.
#pragma once

#include <string>

#include "commands/eval/suite/stack_identity.hpp"
#include "commands/eval/suite/suite_figures.hpp"

namespace warpsmith::commands {

/// One evaluation with what it was measured on.
struct SuiteReport {
  std::string run;  // its folder
  SuitePlan plan;
  StackIdentity stack;
  SuiteTable table;
  SuiteRecords records;
};

/// One line for each row, six significant digits, empty where there is no value.
std::string to_csv(const SuiteTable& table);
/// With `before`, the comparison under `against`.
std::string to_json(const SuiteReport& report, const SuiteReport* before = nullptr);
/// The stack, then a line for all tasks, for each level and each task, then refusals.
std::string to_text(const SuiteReport& report);

/// Two evaluations beside each other, under both stacks, over the tasks of equal content that both
/// judged; then the tasks that are left out, with the reasons.
std::string to_text(const SuiteReport& before, const SuiteReport& now);

}  // namespace warpsmith::commands
