// SPDX-License-Identifier: Apache-2.0
// Watches the reports of optimiser steps for the signs that came before collapses. Pure.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <string_view>
#include <vector>

#include "policy/learn/step_report.hpp"
#include "runtime/config/learner_config.hpp"

namespace warpsmith::policy {

enum class Warning : uint8_t {
  entropy_falls,      // far below its mean over the steps before
  entropy_rises,      // far above it
  critic_is_no_help,  // explained variance below the bound: advantages are noisier than rewards
  answers_are_cut,    // many trajectories end at a limit
  unlikely_ratios,    // ratios of unlikely tokens explode
};
inline constexpr size_t warning_count = 5;
/// "entropy_falls" and so on: names in records and in the progress line.
std::string_view to_string(Warning warning) noexcept;

class EarlyWarnings {
 public:
  explicit EarlyWarnings(const WarningsConfig& config) : config_(config) {}

  /// Takes the next step's report. Returns the warnings in force: signs that `patience` steps in a
  /// row have shown, this one included.
  std::vector<Warning> observe(const StepReport& report);

 private:
  static constexpr size_t window = 8;  // steps

  bool shows(Warning warning, const StepReport& report) const;
  double mean_entropy() const;

  WarningsConfig config_;
  std::deque<double> entropies_;                   // of the last `window` steps
  size_t steps_ = 0;                               // observed so far
  std::array<int64_t, warning_count> in_a_row_{};  // steps that showed the sign
};

}  // namespace warpsmith::policy
