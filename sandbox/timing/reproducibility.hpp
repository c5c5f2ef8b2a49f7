// SPDX-License-Identifier: Apache-2.0
// How much a ratio of two times differs between evaluations of one thing.
//
// Blocks of one evaluation follow each other within a tenth of a second. Between two evaluations
// the machine changes: neighbours' use of memory, which pages were dealt, clocks. No number of
// blocks shows that (Kalibera and Jones, "Rigorous benchmarking in reasonable time", ISMM 2013:
// repeat at the highest level that varies). But each evaluation also times eager against compiled,
// whose true ratio stays: how far that moves from one evaluation of a task to the next is what any
// ratio may move.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <unordered_map>

namespace warpsmith::sandbox {

/// Pools what a slot has seen, over its tasks; old evaluations fade.
class Reproducibility {
 public:
  /// Times of both baselines in one evaluation of `task`; equal sizes, at least one.
  void add(const std::string& task, std::span<const double> eager,
           std::span<const double> compiled);

  /// Relative standard deviation between evaluations. Before anything is seen: `expected`.
  double scatter() const;

  static constexpr double expected = 0.03;  // seen on idle machines: 0.02 to 0.04

 private:
  static constexpr double expected_weight = 8;  // evaluations that the expectation counts as
  static constexpr double fading = 0.97;        // of each evaluation's weight at the next one
  static constexpr size_t most_tasks = 4096;

  std::unordered_map<std::string, double> last_;  // logarithm of the ratio
  double squares_ = 0, weight_ = 0;
};

}  // namespace warpsmith::sandbox
