// SPDX-License-Identifier: Apache-2.0
// The reference worker's description of a task, parsed and checked.
#pragma once

#include <string>
#include <vector>

#include "runtime/result.hpp"
#include "runtime/task.hpp"

namespace warpsmith::sandbox {

/// A summary of the task's own values of one input or parameter. Zeros for outputs.
struct ValueSummary {
  double mean = 0, deviation = 0, low = 0, high = 0;
};

struct TaskDescription {
  TaskSignature signature;
  std::vector<ValueSummary> values;           // one per tensor of the signature
  double flops = 0;                           // of all operators
  std::vector<std::string> mutants;           // names, in the worker's order
  std::vector<std::string> lower_precisions;  // numbered after the mutants
  std::vector<std::string> honest_orders;     // of sums, numbered from 0
  std::string insensitive;    // why wrong answers equal right ones whatever the inputs; else empty
  bool compiled = false;      // the baseline is ready
  uint64_t worker_bytes = 0;  // of a GPU that the worker needs besides the bench
};

/// Parses the worker's answer to `load`. `parse_failed` names the field.
Result<TaskDescription> parse_description(const std::string& json);

/// Parses the worker's answer to `signature`. `parse_failed` names the field.
Result<TaskSignature> parse_signature(const std::string& json);

/// Names the distinct extents d0, d1, … in order of first appearance and lists them as dims.
void name_extents(TaskSignature& signature);

}  // namespace warpsmith::sandbox
