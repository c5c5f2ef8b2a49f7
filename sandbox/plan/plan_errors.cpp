// SPDX-License-Identifier: Apache-2.0
#include "sandbox/plan/plan_errors.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <tuple>

#include "runtime/message_text.hpp"

namespace warpsmith::sandbox {

Holds holds_for(const std::vector<PlacedExpression>& numbers) {
  const auto varies = [](const PlacedExpression& one) { return one.expression.has_symbols(); };
  return std::ranges::any_of(numbers, varies) ? Holds::at_these_extents : Holds::always;
}

void PlanErrors::at(PlanPlace place, std::string message, Holds holds) {
  list_.push_back({place, one_line(std::move(message)), holds});
}

void PlanErrors::in(const PlacedExpression& expression, const TextError& error, Holds holds) {
  const auto offset = static_cast<uint32_t>(error.offset);
  at({expression.place.line, expression.place.column + offset}, error.message, holds);
}

void PlanErrors::take_permanent(PlanErrors& from) {
  const auto taken = std::ranges::stable_partition(
      from.list_, [](const PlanError& error) { return error.holds != Holds::always; });
  list_.insert(list_.end(), std::make_move_iterator(taken.begin()),
               std::make_move_iterator(taken.end()));
  from.list_.erase(taken.begin(), taken.end());
}

std::string PlanErrors::text() const {
  std::vector<PlanError> sorted = list_;
  const auto key = [](const PlanError& error) {
    return std::tuple(error.place.line, error.place.column);
  };
  std::ranges::stable_sort(sorted, {}, key);
  const auto twice = [&](const PlanError& a, const PlanError& b) {
    return key(a) == key(b) && a.message == b.message;
  };
  sorted.erase(std::ranges::unique(sorted, twice).begin(), sorted.end());
  std::string all;
  for (size_t i = 0; i < std::min(sorted.size(), plan_errors_shown); ++i) {
    all += std::string(i == 0 ? "" : "\n") + plan_file + ":";
    all += fmt::format("{}:{}", sorted[i].place.line, sorted[i].place.column);
    all += ": " + sorted[i].message;
  }
  if (sorted.size() > plan_errors_shown) {
    all += fmt::format("\nand {} more", sorted.size() - plan_errors_shown);
  }
  return all;
}

}  // namespace warpsmith::sandbox
