// SPDX-License-Identifier: Apache-2.0
// The progress line of a run. Pure.
#pragma once

#include <chrono>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "actors/protocol/messages.hpp"

namespace warpsmith::commands {
using namespace actors;

/// The values behind the line, at one moment.
struct ProgressView {
  LedgerCounts counts;
  uint64_t trajectories = 0;  // of the whole run
  uint64_t ended_before = 0;  // of them, ended before a resumed run started
  bool trains = true;         // false for an evaluation, and for a stage that only collects
  bool resumed = false;
  Observation seen;  // from telemetry, e.g. "learner-0.reward_mean"
  std::chrono::seconds elapsed{0};
  std::chrono::seconds limit{0};  // of the run; 0: none
  std::string failure;            // why the run ends; empty: it goes on
};

/// The names of the early warnings that the learner has in force.
std::vector<std::string> early_warnings(const Observation& seen);

/// The number of trajectories whose rollouts have ended; a step may still have to train them.
uint64_t trajectories_ended(const ProgressView& view);

/// Keeps the views of one window, over which rates and shares are taken.
class ProgressLine {
 public:
  explicit ProgressLine(std::chrono::seconds window = std::chrono::seconds{30}) : window_(window) {}
  std::string next(const ProgressView& view);

 private:
  /// The line before there are figures: the work in progress.
  std::string opening(const ProgressView& view) const;
  std::string figures(const ProgressView& view) const;
  /// The line of an evaluation.
  std::string samples(const ProgressView& view) const;
  void move_window(const ProgressView& view);
  double rate(const ProgressView& view, const std::string& key) const;
  double idle_share(const ProgressView& view, const std::string& actor) const;

  std::chrono::seconds window_;
  std::optional<ProgressView> first_ended_;  // the first view in which a trajectory has ended
  std::deque<ProgressView> views_{ProgressView{}};  // rates are taken against the oldest
};

}  // namespace warpsmith::commands
