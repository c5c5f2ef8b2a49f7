// SPDX-License-Identifier: Apache-2.0
#include "sandbox/plan/plan_errors.hpp"

#include <algorithm>
#include <tuple>

namespace warpsmith::sandbox {

void PlanErrors::in(const PlacedExpression& expression, const TextError& error) {
  const auto offset = static_cast<uint32_t>(error.offset);
  at({expression.place.line, expression.place.column + offset}, error.message);
}

std::string PlanErrors::text() const {
  std::vector<PlanError> sorted = list_;
  std::ranges::stable_sort(sorted, {}, [](const PlanError& error) {
    return std::tuple(error.place.line, error.place.column);
  });
  std::string all;
  for (size_t i = 0; i < std::min(sorted.size(), plan_errors_told); ++i) {
    all += std::string(i == 0 ? "" : "\n") + plan_file + ":";
    all += std::to_string(sorted[i].place.line) + ":" + std::to_string(sorted[i].place.column);
    all += ": " + sorted[i].message;
  }
  if (sorted.size() > plan_errors_told) {
    all += "\nand " + std::to_string(sorted.size() - plan_errors_told) + " more";
  }
  return all;
}

}  // namespace warpsmith::sandbox
