// SPDX-License-Identifier: Apache-2.0
// The report of a suite: its table with what it was measured on, comparison with another
// evaluation, report.csv, .json and .html in the run folder.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "commands/eval/suite_figures.hpp"
#include "commands/eval/suite_plan.hpp"
#include "runtime/result.hpp"
#include "runtime/run/run_folder.hpp"

namespace warpsmith::commands {

/// What must agree before two evaluations are compared: machine, driver, torch, lanes, numerics.
/// Field → value; an unknown field has an empty value.
struct StackIdentity {
  std::map<std::string, std::string> fields;
  bool operator==(const StackIdentity&) const = default;
};

/// From stack.json of a run and its plan. The error names the key that is missing or wrong.
Result<StackIdentity> stack_identity(std::string_view stack_json, const SuitePlan& plan);

/// One line per field.
std::string to_text(const StackIdentity& stack);

/// "gpu: A, B" for each field that differs; empty if the two agree.
std::vector<std::string> stack_differences(const StackIdentity& before, const StackIdentity& now);

/// Refuses different stacks, naming every field with both values and the remedy, unless `mix`.
Result<void> check_comparable(const StackIdentity& before, const StackIdentity& now, bool mix);

/// One evaluation with what it was measured on.
struct SuiteReport {
  std::string run;  // its folder
  SuitePlan plan;
  StackIdentity stack;
  SuiteTable table;
  SuiteRecords records;
  bool one_core = false;  // whether the contract times one core
};

/// What two evaluations of a suite have in common.
struct CommonTasks {
  std::set<std::string> ids;
  std::vector<std::string> left_out;  // the other tasks, each with the reason
};

/// The tasks of equal content that both evaluations have judged samples of.
CommonTasks common_tasks(const SuiteReport& before, const SuiteReport& now);

/// The table of an evaluation over these tasks only.
SuiteTable table_over(const SuiteReport& report, const CommonTasks& common);

// The report as text.

/// One line for each row, six significant digits, empty if there is no value.
std::string to_csv(const SuiteTable& table);
/// With `before`, the comparison under `against`.
std::string to_json(const SuiteReport& report, const SuiteReport* before = nullptr);
/// The stack, then a line for all tasks, for each level and each task, then refusals.
std::string to_text(const SuiteReport& report);

/// Two evaluations next to each other, below both stacks, over the tasks of equal content that both
/// judged; then the tasks that are left out, with the reasons.
std::string to_text(const SuiteReport& before, const SuiteReport& now);

/// One HTML page with plots, without scripts or further files. With `before`, the comparison too.
std::string to_html(const SuiteReport& report, const SuiteReport* before = nullptr);

// The report in a run folder.

/// What the run was measured on. A run that was resumed on other stacks names all of them.
Result<StackIdentity> read_stack(const RunPaths& paths, const SuitePlan& plan);

Result<SuiteReport> read_suite_report(const RunPaths& paths);
/// With `before`, report.json and .html contain the comparison too.
Result<void> write_suite_report(const RunPaths& paths, const SuiteReport& report,
                                const SuiteReport* before = nullptr);

}  // namespace warpsmith::commands
