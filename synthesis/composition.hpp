// SPDX-License-Identifier: Apache-2.0
// Pure: one candidate for a task, after the filter, and the JSON by which the composing worker
// reports it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/describe.hpp"
#include "runtime/result.hpp"

namespace warpsmith::synthesis {

/// The result of one candidate: a task, or the reason for its rejection.
struct Composition {
  uint64_t index = 0;
  std::string reason, detail;  // empty: accepted
  std::string id, code, hash;  // of an accepted one; `hash` ignores names that an author chose
  std::vector<std::string> ops;
  double eager_ms = 0;
  std::map<std::string, double> steps;  // seconds by step of the filter, finite

  bool accepted() const { return reason.empty(); }
  bool operator==(const Composition&) const = default;
  WARPSMITH_RECORD(index, reason, detail, id, code, hash, ops, eager_ms, steps)
};

/// Reads a worker's report: {"index", "reason": null, "row": {"id", "ops", "code", "hash",
/// "eager_ms"}} of an accepted candidate, {"index", "reason", "detail"} of a rejected one, both
/// with {"steps": {NAME: seconds}} if these are known. `parse_failed` names what is missing or
/// wrong.
Result<Composition> parse_composition(std::string_view json);

/// The report in this form, on one line.
std::string to_json(const Composition& composition);

}  // namespace warpsmith::synthesis
