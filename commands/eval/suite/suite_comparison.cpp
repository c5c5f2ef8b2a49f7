// SPDX-License-Identifier: Apache-2.0
#include "commands/eval/suite/suite_comparison.hpp"

#include <algorithm>
#include <map>

namespace warpsmith::commands {
namespace {

std::map<std::string, std::string> contents_of(const SuitePlan& plan) {
  std::map<std::string, std::string> contents;
  for (const SuiteTask& task : plan.tasks) contents[task.id] = task.content_hash;
  return contents;
}

bool is_judged(const SuiteReport& report, const std::string& task) {
  const auto found = report.records.samples.find(task);
  return found != report.records.samples.end() && !found->second.empty();
}

}  // namespace

CommonTasks common_tasks(const SuiteReport& before, const SuiteReport& now) {
  CommonTasks common;
  const auto earlier = contents_of(before.plan);
  const auto newer = contents_of(now.plan);
  const auto leave_out = [&](const std::string& task, const char* why) {
    common.left_out.push_back(task + ": " + why);
  };
  for (const auto& [task, content] : newer) {
    const auto found = earlier.find(task);
    if (found == earlier.end()) {
      leave_out(task, "only in the evaluation now");
    } else if (found->second != content) {
      leave_out(task, "its content has changed");
    } else if (!is_judged(before, task) || !is_judged(now, task)) {
      leave_out(task, "not judged in both");
    } else {
      common.ids.insert(task);
    }
  }
  for (const auto& [task, content] : earlier) {
    if (!newer.contains(task)) leave_out(task, "only in the evaluation before");
  }
  return common;
}

SuiteTable table_over(const SuiteReport& report, const CommonTasks& common) {
  SuitePlan plan = report.plan;
  std::erase_if(plan.tasks, [&](const SuiteTask& task) { return !common.ids.contains(task.id); });
  return suite_table(plan, report.records);
}

}  // namespace warpsmith::commands
