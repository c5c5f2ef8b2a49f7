// SPDX-License-Identifier: Apache-2.0
// What is wrong with a plan, collected so that all of it is told at once.
#pragma once

#include <string>
#include <vector>

#include "sandbox/plan/plan.hpp"

namespace warpsmith::sandbox {

inline constexpr size_t plan_errors_told = 20;

class PlanErrors {
 public:
  void at(PlanPlace place, std::string message) { list_.push_back({place, std::move(message)}); }
  /// In an expression: at its own column.
  void in(const PlacedExpression& expression, const TextError& error);
  bool empty() const { return list_.empty(); }
  /// "plan.toml:3:9: message", one line each in order of place; of many the first.
  std::string text() const;

 private:
  struct PlanError {
    PlanPlace place;
    std::string message;
  };
  std::vector<PlanError> list_;
};

}  // namespace warpsmith::sandbox
