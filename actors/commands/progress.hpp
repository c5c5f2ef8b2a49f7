// SPDX-License-Identifier: Apache-2.0
// One line that says how a run goes. Pure.
#pragma once

#include <chrono>
#include <deque>
#include <optional>
#include <string>

#include "actors/protocol/messages.hpp"

namespace warpsmith::actors {

/// What the line is made of, at one moment.
struct ProgressView {
  LedgerCounts counts;
  uint64_t trajectories = 0;  // of the whole run
  uint64_t done_before = 0;   // of them, when a run that goes on began anew
  Observation seen;           // the telemetry's, "learner-0.reward_mean"
  std::chrono::seconds elapsed{0};
  std::chrono::seconds limit{0};  // of the run; 0: none
};

/// Trajectories that need nothing more.
uint64_t trajectories_done(const ProgressView& view);

/// Keeps the views of a window, so that rates and shares are those of its length.
class ProgressLine {
 public:
  explicit ProgressLine(std::chrono::seconds window = std::chrono::seconds{30}) : window_(window) {}
  std::string next(const ProgressView& view);

 private:
  /// What is being done while there are no figures yet.
  std::string opening(const ProgressView& view) const;
  std::string figures(const ProgressView& view) const;
  /// Where nobody learns: an evaluation.
  std::string samples(const ProgressView& view) const;
  void move_window(const ProgressView& view);
  double rate(const ProgressView& view, const std::string& key) const;
  double idle_share(const ProgressView& view, const std::string& actor) const;

  std::chrono::seconds window_;
  std::optional<ProgressView> first_done_;         // the first view of which some were done
  std::deque<ProgressView> kept_{ProgressView{}};  // the oldest is what rates are taken against
};

/// "1h02m", "3m10s", "12s".
std::string duration_text(std::chrono::seconds span);

}  // namespace warpsmith::actors
