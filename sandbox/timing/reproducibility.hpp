// SPDX-License-Identifier: Apache-2.0
// How much a time differs between evaluations of the same kernel.
//
// Blocks of one evaluation lie within a tenth of a second. Between evaluations the machine changes:
// neighbours' use of memory, page placement, clock rates. More blocks cannot show that (Kalibera
// and Jones, "Rigorous benchmarking in reasonable time", ISMM 2013: repeat at the highest level
// that varies). But each evaluation also times a baseline, whose true time is constant. Its change
// from one evaluation of a task to the next estimates how much ratios to it vary. (On two virtual
// machines ratios and eager's time both varied by 5 to 8 %; the ratio of the two baselines, which
// share a process, by 2 to 4 %.)
#pragma once

#include <cstddef>
#include <string>
#include <unordered_map>

namespace warpsmith::sandbox {

/// For one baseline: pools a slot's evaluations over all its tasks; the weight of old ones fades.
class Reproducibility {
 public:
  /// The baseline's median in one evaluation of `task`; any unit, more than 0.
  void add(const std::string& task, double time);

  /// Relative standard deviation between evaluations; `expected` until there is data.
  double scatter() const;

  static constexpr double expected = 0.04;

 private:
  static constexpr double expected_weight = 8;  // weight of `expected`, in evaluations
  static constexpr double fading = 0.97;        // of older evaluations' weights, at each new one
  static constexpr size_t most_tasks = 4096;

  static constexpr double most_step = 0.3;  // of a logarithm: limits a single disturbance

  std::unordered_map<std::string, double> last_;  // logarithm of the time
  double squares_ = 0, weight_ = 0;
};

}  // namespace warpsmith::sandbox
