// SPDX-License-Identifier: Apache-2.0
// Counts the results of a run's candidates. The file has the format of synthesis/worker/funnel.py.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "runtime/result.hpp"
#include "synthesis/composition.hpp"

namespace warpsmith::synthesis {

inline constexpr const char* funnel_file = "funnel.json";

struct Funnel {
  uint64_t candidates = 0, accepted = 0;
  std::map<std::string, uint64_t> rejected;  // by reason
  std::map<std::string, double> seconds;     // by step

  void add(const Composition& composition);
  bool operator==(const Funnel&) const = default;
};

/// "3 accepted of 9 candidates; rejected: 4 too_fast, 2 raises": the four most frequent reasons.
std::string line_of(const Funnel& funnel);

std::string to_json(const Funnel& funnel);
/// `parse_failed` if the text is not a funnel.
Result<Funnel> parse_funnel(std::string_view json);

}  // namespace warpsmith::synthesis
