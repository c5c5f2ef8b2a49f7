// SPDX-License-Identifier: Apache-2.0
// How much a time differs between evaluations of one thing.
//
// Blocks of one evaluation follow each other within a tenth of a second. Between two evaluations
// the machine changes: neighbours' use of memory, which pages were dealt, clocks. No number of
// blocks shows that (Kalibera and Jones, "Rigorous benchmarking in reasonable time", ISMM 2013:
// repeat at the highest level that varies). But each evaluation also times a baseline, whose true
// time stays: how far that moves from one evaluation of a task to the next is what a ratio to it
// may move. (Seen on two virtual machines: ratios moved by 5 to 8 %, eager's time by 5 to 8 %, the
// ratio of the two baselines, which share a process and its luck, by 2 to 4 %.)
#pragma once

#include <cstddef>
#include <string>
#include <unordered_map>

namespace warpsmith::sandbox {

/// Of one baseline: pools what a slot has seen, over its tasks; old evaluations fade.
class Reproducibility {
 public:
  /// The baseline's median in one evaluation of `task`; any unit, more than 0.
  void add(const std::string& task, double time);

  /// Relative standard deviation between evaluations. Before anything is seen: `expected`.
  double scatter() const;

  static constexpr double expected = 0.04;

 private:
  static constexpr double expected_weight = 8;  // evaluations that the expectation counts as
  static constexpr double fading = 0.97;        // of each evaluation's weight at the next one
  static constexpr size_t most_tasks = 4096;

  static constexpr double most_step = 0.3;  // of a logarithm: one disturbance is not a trend

  std::unordered_map<std::string, double> last_;  // logarithm of the time
  double squares_ = 0, weight_ = 0;
};

}  // namespace warpsmith::sandbox
