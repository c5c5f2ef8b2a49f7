// SPDX-License-Identifier: Apache-2.0
#include "commands/eval/suite/suite_report.hpp"

#include <filesystem>
#include <map>
#include <set>

#include "commands/eval/suite/suite_page.hpp"
#include "runtime/run/durable_file.hpp"

namespace warpsmith::commands {
namespace {

namespace fs = std::filesystem;

constexpr size_t most_stack_bytes = 1U << 20U;

/// stack.json, and the earlier stack.1.json … that resumes have kept.
std::vector<fs::path> stack_files(const RunPaths& paths) {
  std::vector<fs::path> files{paths.stack()};
  std::error_code error;
  for (int i = 1; i < 1000; ++i) {
    const fs::path earlier = paths.folder / ("stack." + std::to_string(i) + ".json");
    if (!fs::exists(earlier, error)) break;
    files.push_back(earlier);
  }
  return files;
}

Result<StackIdentity> read_one(const fs::path& file, const SuitePlan& plan) {
  const auto text = read_text_file(file, most_stack_bytes);
  if (!text) return tl::unexpected(text.error());
  auto stack = stack_identity(*text, plan);
  if (!stack) return fail(file.string(), std::move(stack.error()));
  return stack;
}

}  // namespace

Result<StackIdentity> read_stack(const RunPaths& paths, const SuitePlan& plan) {
  std::map<std::string, std::set<std::string>> values;
  for (const fs::path& file : stack_files(paths)) {
    const auto one = read_one(file, plan);
    if (!one) return one;
    for (const auto& [field, value] : one->fields) values[field].insert(value);
  }
  StackIdentity whole;
  for (const auto& [field, several] : values) {
    std::string& text = whole.fields[field];
    for (const std::string& value : several) text += (text.empty() ? "" : " | ") + value;
  }
  return whole;
}

Result<SuiteReport> read_suite_report(const RunPaths& paths) {
  auto plan = read_suite_plan(paths);
  if (!plan) return tl::unexpected(std::move(plan.error()));
  auto stack = read_stack(paths, *plan);
  if (!stack) return tl::unexpected(std::move(stack.error()));
  auto db = RunDatabase::open(paths.database(), SqlAccess::read_only);
  if (!db) return tl::unexpected(std::move(db.error()));
  auto records = read_suite_records(*db);
  if (!records) return tl::unexpected(records.error());
  SuiteTable table = suite_table(*plan, *records);
  return SuiteReport{paths.folder.string(), std::move(*plan), std::move(*stack), std::move(table),
                     std::move(*records)};
}

Result<void> write_suite_report(const RunPaths& paths, const SuiteReport& report,
                                const SuiteReport* before) {
  const std::pair<const char*, std::string> files[] = {{"report.csv", to_csv(report.table)},
                                                       {"report.json", to_json(report, before)},
                                                       {"report.html", to_html(report, before)}};
  for (const auto& [name, text] : files) {
    if (auto written = write_file_whole(paths.folder / name, text); !written) return written;
  }
  return {};
}

}  // namespace warpsmith::commands
