// SPDX-License-Identifier: Apache-2.0
#include "commands/eval/suite/stack_identity.hpp"

#include <nlohmann/json.hpp>
#include <set>

namespace warpsmith::commands {
namespace {

using nlohmann::json;

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
  return fail(ErrorCode::invalid_argument, text + "\n--mix-stacks compares them all the same");
}

}  // namespace warpsmith::commands
