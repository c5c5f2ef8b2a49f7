// SPDX-License-Identifier: Apache-2.0
// What is wrong with a plan, collected so that all of it is told at once.
#pragma once

#include <string>
#include <vector>

#include "sandbox/plan/plan.hpp"

namespace warpsmith::sandbox {

inline constexpr size_t plan_errors_told = 20;

/// Whether other extents could mend it.
enum class Holds : uint8_t { always, at_these_extents };

/// Of what rests on these numbers alone: the extents have no say where none of them names one.
Holds resting_on(const std::vector<PlacedExpression>& numbers);

class PlanErrors {
 public:
  void at(PlanPlace place, std::string message, Holds holds = Holds::always);
  /// What other extents may mend.
  void at_extents(PlanPlace place, std::string message) {
    at(place, std::move(message), Holds::at_these_extents);
  }
  /// In an expression: at its own column.
  void in(const PlacedExpression& expression, const TextError& error, Holds holds = Holds::always);
  bool empty() const { return list_.empty(); }
  size_t size() const { return list_.size(); }
  /// "plan.toml:3:9: message", one line each in order of place; of many the first.
  std::string text() const;
  void add(const PlanErrors& more) {
    list_.insert(list_.end(), more.list_.begin(), more.list_.end());
  }
  /// Takes what always holds out of `from`.
  void take_what_always_holds(PlanErrors& from);

 private:
  struct PlanError {
    PlanPlace place;
    std::string message;
    Holds holds = Holds::always;
  };
  std::vector<PlanError> list_;
};

}  // namespace warpsmith::sandbox
