// SPDX-License-Identifier: Apache-2.0
// One line that says how a run goes. Pure.
#pragma once

#include <chrono>
#include <map>
#include <string>

#include "actors/messages.hpp"

namespace warpsmith::actors {

/// What the line is made of, at one moment.
struct ProgressView {
  LedgerCounts counts;
  uint64_t trajectories = 0;              // of the whole run
  std::map<std::string, double> numbers;  // the telemetry's, "learner-0.reward_mean"
  std::chrono::seconds elapsed{0};
  std::chrono::seconds limit{0};  // of the run; 0: none
};

/// Keeps the last view, so that rates and shares are those of the time in between.
class ProgressLine {
 public:
  std::string next(const ProgressView& view);

 private:
  double rate(const ProgressView& view, const std::string& key) const;
  double idle_share(const ProgressView& view, const std::string& actor) const;

  ProgressView last_;
};

/// "1h02m", "3m10s", "12s".
std::string duration_text(std::chrono::seconds span);

}  // namespace warpsmith::actors
