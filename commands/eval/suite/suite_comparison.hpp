// SPDX-License-Identifier: Apache-2.0
// What two evaluations of a suite have in common. Pure.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "commands/eval/suite/suite_table.hpp"

namespace warpsmith::commands {

struct CommonTasks {
  std::set<std::string> ids;
  std::vector<std::string> left_out;  // the other tasks, each with the reason
};

/// The tasks of equal content that both evaluations have judged samples of.
CommonTasks common_tasks(const SuiteReport& before, const SuiteReport& now);

/// The table of an evaluation over these tasks alone.
SuiteTable table_over(const SuiteReport& report, const CommonTasks& common);

}  // namespace warpsmith::commands
