// SPDX-License-Identifier: Apache-2.0
#include "commands/eval/suite_plan.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "runtime/json_text.hpp"
#include "runtime/run/durable_file.hpp"

namespace warpsmith::commands {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr int plan_format = 1;
constexpr int64_t most_samples = 100'000;
constexpr size_t most_plan_bytes = 64U << 20U;

std::string lane_name(PrecisionLane lane) {
  return lane == PrecisionLane::tf32_allowed ? "tf32-allowed" : "fp32-strict";
}

/// Reads the members of one object; keeps the first complaint.
class Members {
 public:
  Members(const json& object, std::string place) : object_(object), place_(std::move(place)) {
    if (!object.is_object()) complain("", "an object", object);
  }
  std::string text(const char* key) {
    const json* value = member(key);
    if (value != nullptr && value->is_string()) return value->get<std::string>();
    complain(key, "a text", value != nullptr ? *value : json());
    return {};
  }
  int64_t number(const char* key, int64_t low, int64_t high) {
    const json* value = member(key);
    if (value != nullptr && value->is_number_integer()) {
      const auto got = value->get<int64_t>();
      if (got >= low && got <= high) return got;
    }
    complain(key, fmt::format("a whole number from {} to {}", low, high),
             value != nullptr ? *value : json());
    return low;
  }
  const json& list(const char* key) {
    static const json none = json::array();
    const json* value = member(key);
    if (value != nullptr && value->is_array()) return *value;
    complain(key, "a list", value != nullptr ? *value : json());
    return none;
  }
  const std::string& complaint() const { return complaint_; }

 private:
  const json* member(const char* key) const {
    if (!object_.is_object()) return nullptr;
    const auto found = object_.find(key);
    return found == object_.end() ? nullptr : &*found;
  }
  void complain(const std::string& key, const std::string& expected, const json& got) {
    if (!complaint_.empty()) return;
    complaint_ = place_ + (key.empty() || place_.empty() ? "" : ".") + key + ": expected " +
                 expected + ", got " + json_text(got).substr(0, 80);
  }

  const json& object_;
  std::string place_, complaint_;
};

Result<SuiteTask> parse_task(const json& object, const std::string& place) {
  Members members{object, place};
  SuiteTask task{members.text("id"), members.text("level"), members.text("file"),
                 members.text("hash"), members.text("lane")};
  if (!members.complaint().empty()) return fail(ErrorCode::parse_failed, members.complaint());
  return task;
}

Result<BrokenFile> parse_broken(const json& object, const std::string& place) {
  Members members{object, place};
  BrokenFile file{members.text("level"), members.text("file"), members.text("reason")};
  if (!members.complaint().empty()) return fail(ErrorCode::parse_failed, members.complaint());
  return file;
}

template <class T>
Result<std::vector<T>> parse_list(const json& list, const std::string& name,
                                  Result<T> (*parse)(const json&, const std::string&)) {
  std::vector<T> out;
  for (size_t i = 0; i < list.size(); ++i) {
    TRY(auto one, parse(list[i], name + '[' + std::to_string(i) + ']'));
    out.push_back(std::move(one));
  }
  return out;
}

/// The message without the file's name, which is always shown next to it.
std::string reason_of(const synthesis::RefusedFile& file) {
  const std::string place = file.file.string() + ": ";
  const std::string& message = file.why.message;
  return message.starts_with(place) ? message.substr(place.size()) : message;
}

}  // namespace

std::string level_of(const fs::path& suite, const fs::path& file) {
  fs::path inside = synthesis::named_path(file).lexically_relative(suite);
  const fs::path kinds = inside.lexically_relative("definitions");  // of flashinfer-bench
  if (kinds.has_parent_path() && *kinds.begin() != "..") inside = kinds;
  if (inside.has_parent_path() && *inside.begin() != "..") return inside.begin()->string();
  const fs::path whole = fs::absolute(suite).lexically_normal();
  return (whole.has_filename() ? whole : whole.parent_path()).filename().string();
}

SuitePlan plan_suite(const fs::path& suite, const synthesis::FoundTasks& found, int64_t samples,
                     const RunConfig& config) {
  SuitePlan plan{
      suite.string(),          samples, std::string(to_string(config.sandbox.settings.numerics)),
      config.sandbox.contract, {},      {}};
  for (const Task& task : found.tasks) {
    plan.tasks.push_back({task.id, level_of(suite, task.source), task.source, task.content_hash,
                          lane_name(task.lane)});
  }
  for (const synthesis::RefusedFile& file : found.refused) {
    plan.broken.push_back({level_of(suite, file.file), file.file.string(), reason_of(file)});
  }
  return plan;
}

std::string to_json(const SuitePlan& plan) {
  json tasks = json::array(), broken = json::array();
  for (const SuiteTask& task : plan.tasks) {
    tasks.push_back({{"id", task.id},
                     {"level", task.level},
                     {"file", task.file},
                     {"hash", task.content_hash},
                     {"lane", task.lane}});
  }
  for (const BrokenFile& file : plan.broken) {
    broken.push_back({{"level", file.level}, {"file", file.file}, {"reason", file.reason}});
  }
  const json out{{"format", plan_format},     {"suite", plan.suite},
                 {"samples", plan.samples},   {"numerics", plan.numerics},
                 {"contract", plan.contract}, {"tasks", tasks},
                 {"broken", broken}};
  return json_text(out, 2) + '\n';
}

Result<SuitePlan> parse_suite_plan(std::string_view text) {
  const json object = json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (object.is_discarded()) return fail(ErrorCode::parse_failed, "expected JSON");
  Members members{object, ""};
  (void)members.number("format", plan_format, plan_format);
  SuitePlan plan{members.text("suite"),
                 members.number("samples", 1, most_samples),
                 members.text("numerics"),
                 members.text("contract"),
                 {},
                 {}};
  const json &tasks = members.list("tasks"), &broken = members.list("broken");
  if (!members.complaint().empty()) return fail(ErrorCode::parse_failed, members.complaint());
  TRY(auto parsed, parse_list<SuiteTask>(tasks, "tasks", parse_task));
  TRY(auto unfit, parse_list<BrokenFile>(broken, "broken", parse_broken));
  plan.tasks = std::move(parsed);
  plan.broken = std::move(unfit);
  return plan;
}

fs::path suite_file(const RunPaths& paths) {
  return paths.folder / "suite.json";
}

Result<SuitePlan> read_suite_plan(const RunPaths& paths) {
  const fs::path file = suite_file(paths);
  std::error_code error;
  if (!fs::exists(file, error)) {
    return fail(ErrorCode::not_found,
                file.string() + ": no such file: expected a run of `eval CONFIG --suite DIR`");
  }
  TRY(const auto text, read_text_file(file, most_plan_bytes));
  auto plan = parse_suite_plan(text);
  if (!plan) return fail(file.string(), std::move(plan.error()));
  return plan;
}

}  // namespace warpsmith::commands
