// SPDX-License-Identifier: Apache-2.0
// How far the baselines' times move between the evaluations of one slot.
#pragma once

#include <map>
#include <string>

#include "sandbox/judge/verdict_of.hpp"
#include "sandbox/timing/reproducibility.hpp"

namespace warpsmith::sandbox {

class BaselineHistory {
 public:
  /// Sets the scatter of each baseline in `timings`. They join the history, too, unless they hold
  /// fewer than `least_blocks`: the median of a timing that ended early tells little.
  void compare(const std::string& task_key, Timings& timings, int least_blocks);

 private:
  Reproducibility eager_, compiled_;
  std::map<Baseline, Reproducibility> further_;
};

}  // namespace warpsmith::sandbox
