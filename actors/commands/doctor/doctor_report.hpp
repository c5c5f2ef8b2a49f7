// SPDX-License-Identifier: Apache-2.0
// What `doctor` found: plain facts, and their two forms. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace warpsmith::actors {

enum class FindingState : uint8_t {
  good,
  absent,   // something works less well, or a part is not available; the advice says what
  missing,  // the CPU path does not work without it
};

using FindingValue = std::variant<std::string, int64_t, double, bool>;

/// One fact. Numbers carry their unit in the name ("memory_bytes").
struct Finding {
  std::string area;  // "machine", "jail", "build", "gpu", "device"
  std::string name;
  FindingValue value;
  FindingState state = FindingState::good;
  std::string advice;  // how to get it; empty when good
};

using Findings = std::vector<Finding>;

/// Grouped by area, what is missing at the end with its advice.
std::string to_text(const Findings& findings);

/// {"areas": {AREA: {NAME: VALUE}}, "absent": [{area, name, advice}], "missing": [...], "ok": bool}
std::string to_json(const Findings& findings);

bool all_present(const Findings& findings);

}  // namespace warpsmith::actors
