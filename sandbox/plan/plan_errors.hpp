// SPDX-License-Identifier: Apache-2.0
// The errors of a plan, collected so that all are reported at once.
#pragma once

#include <string>
#include <vector>

#include "sandbox/plan/plan.hpp"

namespace warpsmith::sandbox {

inline constexpr size_t plan_errors_shown = 20;

/// Whether an error applies to all extents, or others might fix it.
enum class Holds : uint8_t { always, at_these_extents };

/// The scope of an error in these numbers: it always applies if none of them names an extent.
Holds holds_for(const std::vector<PlacedExpression>& numbers);

class PlanErrors {
 public:
  void at(PlanPlace place, std::string message, Holds holds = Holds::always);
  /// Adds an error that other extents might fix.
  void at_extents(PlanPlace place, std::string message) {
    at(place, std::move(message), Holds::at_these_extents);
  }
  /// Adds an error within an expression, at its own column.
  void in(const PlacedExpression& expression, const TextError& error, Holds holds = Holds::always);
  bool empty() const { return list_.empty(); }
  size_t size() const { return list_.size(); }
  /// "plan.toml:3:9: message", one line each in order of place; at most `plan_errors_shown`.
  std::string text() const;
  void add(const PlanErrors& more) {
    list_.insert(list_.end(), more.list_.begin(), more.list_.end());
  }
  /// Moves the errors that always apply out of `from`.
  void take_permanent(PlanErrors& from);

 private:
  struct PlanError {
    PlanPlace place;
    std::string message;
    Holds holds = Holds::always;
  };
  std::vector<PlanError> list_;
};

}  // namespace warpsmith::sandbox
