// SPDX-License-Identifier: Apache-2.0
// What the reference worker says about a task, checked before it is believed.
#pragma once

#include <string>
#include <vector>

#include "runtime/result.hpp"
#include "runtime/task.hpp"

namespace warpsmith::sandbox {

/// Values of one input or parameter as the task itself makes them. Zeros for outputs.
struct ValueSummary {
  double mean = 0, deviation = 0, low = 0, high = 0;
};

struct TaskDescription {
  TaskSignature signature;
  std::vector<ValueSummary> values;           // one per tensor of the signature
  double flops = 0;                           // of all operators
  std::vector<std::string> mutants;           // names, in the worker's order
  std::vector<std::string> lower_precisions;  // follow the mutants in the same numbering
  std::vector<std::string> honest_orders;     // of sums, numbered by themselves
  bool compiled = false;                      // the baseline is ready
};

/// Parses the worker's answer to `load`. `parse_failed` names the field.
Result<TaskDescription> parse_description(const std::string& json);

/// Parses its answer to `signature`, likewise.
Result<TaskSignature> parse_signature(const std::string& json);

/// Names the distinct extents d0, d1, … in order of first appearance and lists them as dims.
void name_extents(TaskSignature& signature);

std::string_view to_string(Dtype dtype) noexcept;

}  // namespace warpsmith::sandbox
