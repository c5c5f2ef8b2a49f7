// SPDX-License-Identifier: Apache-2.0
// The mutation gate: a task whose wrong answers would be judged right is not fit for training.
#pragma once

#include <string>
#include <vector>

#include "sandbox/judge/inputs.hpp"
#include "sandbox/judge/numerics.hpp"

namespace warpsmith::sandbox {

/// How one wrong answer was judged on the sets of several distributions.
struct MutantTrial {
  std::string name;
  bool applies = false;  // to this task at all
  bool caught = false;   // judged wrong on at least one set
  double worst = 0;      // largest error / bound seen
};

/// Adds what one set says about a mutant.
void record_trial(MutantTrial& trial, const ErrorStats& stats);

/// Those that apply and were never judged wrong, with commas between.
std::string names_uncaught(const std::vector<MutantTrial>& trials);

/// Empty if every mutant that applies was caught; else the reason for the quarantine.
std::string quarantine_reason(const std::vector<MutantTrial>& trials);

}  // namespace warpsmith::sandbox
