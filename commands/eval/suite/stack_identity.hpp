// SPDX-License-Identifier: Apache-2.0
// What must agree before two evaluations are compared: machine, driver, torch, lanes, numerics.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "commands/eval/suite/suite_plan.hpp"
#include "runtime/result.hpp"

namespace warpsmith::commands {

/// Field → value; a field that is unknown has an empty value.
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

}  // namespace warpsmith::commands
