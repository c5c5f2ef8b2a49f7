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
  int seen = 0;          // timed sets on which it differed from eager, caught or not
  bool lost = false;     // in the roundings of a half type: not to be told on these contents
};

/// Errors of a half type's outputs up to so many exact bounds are lost among honest ones, which
/// reach half a bound. One term of 256 changes a norm of bfloat16 rows that are all alike by one:
/// whoever leaves it out there, and only there, is as right as anybody.
inline constexpr double lost_in_rounding = 2;

/// Adds what one set says about a mutant.
void record_trial(MutantTrial& trial, const ErrorStats& stats);

/// What the exact bound says about a trial that begins as `lost`: it is so on every set, or not.
void record_exact(MutantTrial& trial, const ErrorStats& stats);

/// Whether a further set could still catch one.
bool any_waits(const std::vector<MutantTrial>& trials);

/// Whether those that a further set could catch never differed from what is right: the sets so far
/// say nothing about them.
bool only_unseen_wait(const std::vector<MutantTrial>& trials);

/// Whether those that a further set could catch differed on half of so many timed sets at most: by
/// chance, then, and not always too little to be told.
bool only_seldom_seen_wait(const std::vector<MutantTrial>& trials, int sets);

/// What is lost so far stays so: it waits no longer.
void drop_lost(std::vector<MutantTrial>& trials);

/// Those that apply, are not lost and were never judged wrong, with commas between.
std::string names_uncaught(const std::vector<MutantTrial>& trials);

/// Empty if every mutant that applies was caught; else the reason for the quarantine.
std::string quarantine_reason(const std::vector<MutantTrial>& trials);

}  // namespace warpsmith::sandbox
