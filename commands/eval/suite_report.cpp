// SPDX-License-Identifier: Apache-2.0
#include "commands/eval/suite_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "runtime/run/durable_file.hpp"

namespace warpsmith::commands {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr size_t most_stack_bytes = 1U << 20U;

std::string joined(const std::set<std::string>& values) {
  std::string out;
  for (const std::string& value : values) out += (out.empty() ? "" : ", ") + value;
  return out;
}

std::string text_of(const json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

/// The GPUs' distinct values of one key.
std::string of_gpus(const json& gpus, const char* key) {
  std::set<std::string> values;
  for (const json& gpu : gpus) {
    if (gpu.is_object()) values.insert(text_of(gpu, key));
  }
  return joined(values);
}

std::string lanes_of(const SuitePlan& plan) {
  std::set<std::string> lanes;
  for (const SuiteTask& task : plan.tasks) lanes.insert(task.lane);
  return joined(lanes);
}

std::map<std::string, std::string> contents_of(const SuitePlan& plan) {
  std::map<std::string, std::string> contents;
  for (const SuiteTask& task : plan.tasks) contents[task.id] = task.content_hash;
  return contents;
}

bool is_judged(const SuiteReport& report, const std::string& task) {
  const auto found = report.records.samples.find(task);
  return found != report.records.samples.end() && !found->second.empty();
}

/// stack.json, and the earlier stack.1.json … that resumes have kept.
std::vector<fs::path> stack_files(const RunPaths& paths) {
  std::vector<fs::path> files{paths.stack()};
  std::error_code error;
  for (int i = 1; i < 1000; ++i) {
    const fs::path earlier = paths.folder / fmt::format("stack.{}.json", i);
    if (!fs::exists(earlier, error)) break;
    files.push_back(earlier);
  }
  return files;
}

Result<StackIdentity> read_one(const fs::path& file, const SuitePlan& plan) {
  TRY(const auto text, read_text_file(file, most_stack_bytes));
  auto stack = stack_identity(text, plan);
  if (!stack) return fail(file.string(), std::move(stack.error()));
  return stack;
}

}  // namespace

Result<StackIdentity> stack_identity(std::string_view stack_json, const SuitePlan& plan) {
  const json stack = json::parse(stack_json, nullptr, /*allow_exceptions=*/false);
  if (!stack.is_object()) return fail(ErrorCode::parse_failed, "expected an object");
  for (const char* key : {"gpus", "versions"}) {
    if (!stack.contains(key) || !stack[key].is_structured()) {
      return fail(ErrorCode::parse_failed, std::string{key} + ": expected a list or an object");
    }
  }
  const json &gpus = stack["gpus"], &versions = stack["versions"];
  if (!versions.is_object() || !gpus.is_array()) {
    return fail(ErrorCode::parse_failed, "versions: expected an object; gpus: a list");
  }
  return StackIdentity{{{"gpu", of_gpus(gpus, "name")},
                        {"architecture", of_gpus(gpus, "arch")},
                        {"cuda", of_gpus(gpus, "driver")},
                        {"driver", text_of(versions, "driver")},
                        {"torch", text_of(versions, "torch")},
                        {"cpu", text_of(stack, "cpu")},
                        {"warpsmith", text_of(stack, "warpsmith")},
                        {"lane", lanes_of(plan)},
                        {"numerics", plan.numerics},
                        {"contract", plan.contract}}};
}

std::string to_text(const StackIdentity& stack) {
  std::string out;
  for (const auto& [field, value] : stack.fields) {
    out += "  " + field + std::string(13 - std::min<size_t>(field.size(), 12), ' ') +
           (value.empty() ? "-" : value) + '\n';
  }
  return out;
}

std::vector<std::string> stack_differences(const StackIdentity& before, const StackIdentity& now) {
  std::vector<std::string> out;
  for (const auto& [field, value] : now.fields) {
    const auto found = before.fields.find(field);
    const std::string earlier = found == before.fields.end() ? "" : found->second;
    if (earlier != value) {
      out.push_back(field + ": " + (earlier.empty() ? "-" : earlier) + " before, " +
                    (value.empty() ? "-" : value) + " now");
    }
  }
  return out;
}

Result<void> check_comparable(const StackIdentity& before, const StackIdentity& now, bool mix) {
  const auto differences = stack_differences(before, now);
  if (differences.empty() || mix) return {};
  std::string text = "the two were measured on different stacks:";
  for (const std::string& one : differences) text += "\n  " + one;
  return fail(ErrorCode::invalid_argument, text + "\n--mix-stacks compares them anyway");
}

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

Result<StackIdentity> read_stack(const RunPaths& paths, const SuitePlan& plan) {
  std::map<std::string, std::set<std::string>> values;
  for (const fs::path& file : stack_files(paths)) {
    TRY(const auto one, read_one(file, plan));
    for (const auto& [field, value] : one.fields) values[field].insert(value);
  }
  StackIdentity whole;
  for (const auto& [field, several] : values) {
    std::string& text = whole.fields[field];
    for (const std::string& value : several) text += (text.empty() ? "" : " | ") + value;
  }
  return whole;
}

Result<SuiteReport> read_suite_report(const RunPaths& paths) {
  TRY(auto plan, read_suite_plan(paths));
  TRY(auto stack, read_stack(paths, plan));
  TRY(auto db, RunDatabase::open(paths.database(), SqlAccess::read_only));
  TRY(auto records, read_suite_records(db));
  SuiteTable table = suite_table(plan, records);
  return SuiteReport{paths.folder.string(), std::move(plan), std::move(stack), std::move(table),
                     std::move(records)};
}

Result<void> write_suite_report(const RunPaths& paths, const SuiteReport& report,
                                const SuiteReport* before) {
  const std::pair<const char*, std::string> files[] = {{"report.csv", to_csv(report.table)},
                                                       {"report.json", to_json(report, before)},
                                                       {"report.html", to_html(report, before)}};
  for (const auto& [name, text] : files) {
    TRY_VOID(write_file_whole(paths.folder / name, text));
  }
  return {};
}

}  // namespace warpsmith::commands
