// SPDX-License-Identifier: Apache-2.0
// The findings of `doctor`, as text and as JSON. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace warpsmith::commands {

enum class FindingState : uint8_t {
  good,
  absent,   // a part is slower or not available; the advice says which
  missing,  // not even the CPU path works without it
};

using FindingValue = std::variant<std::string, int64_t, double, bool>;

/// One finding. A number has its unit in its name ("memory_bytes").
struct Finding {
  std::string area;  // "machine", "jail", "build", "gpu", "device"
  std::string name;
  FindingValue value;
  FindingState state = FindingState::good;
  std::string advice;  // how to get it; empty if good
};

using Findings = std::vector<Finding>;

/// A text grouped by area; what is missing or absent stands at the end with its advice.
std::string to_text(const Findings& findings);

/// {"areas": {AREA: {NAME: VALUE}}, "absent": [{area, name, advice}], "missing": [...], "ok": bool}
std::string to_json(const Findings& findings);

bool all_present(const Findings& findings);

}  // namespace warpsmith::commands
