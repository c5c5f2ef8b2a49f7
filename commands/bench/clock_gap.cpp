// SPDX-License-Identifier: Apache-2.0
#include "commands/bench/clock_gap.hpp"

#include <nlohmann/json.hpp>

namespace warpsmith::commands {

std::optional<double> clock_gap_us(const Verdict& verdict) {
  const auto evidence = nlohmann::json::parse(verdict.evidence, nullptr, false);
  if (!evidence.is_object()) return std::nullopt;
  const auto gap =
      evidence.value(nlohmann::json::json_pointer("/timing/clock_gap_ms"), nlohmann::json());
  if (!gap.is_number()) return std::nullopt;
  return 1000 * gap.get<double>();
}

}  // namespace warpsmith::commands
