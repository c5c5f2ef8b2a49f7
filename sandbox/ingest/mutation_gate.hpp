// SPDX-License-Identifier: Apache-2.0
// The mutation gate: finds the wrong answers that a task's outputs cannot tell from right ones.
#pragma once

#include <string>
#include <vector>

#include "sandbox/judge/inputs.hpp"
#include "sandbox/judge/numerics.hpp"

namespace warpsmith::sandbox {

/// The mutant with the lowest precision.
inline constexpr const char* coarsest = "bf16";

/// The judgement of one wrong answer over all sets so far.
struct MutantTrial {
  std::string name;
  bool applies = false;         // to this task
  bool caught = false;          // judged wrong on at least one set
  double worst = 0;             // largest error / bound seen
  int seen = 0;                 // timed sets on which it differed from eager, caught or not
  bool later = false;           // judged only by the timed outputs, by both checks
  bool without_effect = false;  // the exact result is the right one: no wrong answer
  bool lost = false;  // within the rounding of a half type: cannot be caught on these contents
};

/// Outputs of half types with errors up to so many exact bounds count as lost among honest errors,
/// which reach half a bound. In the norm of equal bfloat16 rows, one of 256 terms makes a
/// difference of one bound: without that term the outputs are as right as an honest evaluation's.
inline constexpr double lost_in_rounding = 2;

/// Adds the result of one set to a trial.
void record_trial(MutantTrial& trial, const ErrorStats& stats);

/// Adds the exact bound's result: a trial stays `lost` only if it is lost on every set.
void record_exact(MutantTrial& trial, const ErrorStats& stats);

/// Whether it is a wrong answer that was not judged wrong yet.
bool is_uncaught(const MutantTrial& trial);

/// Whether a mutant applies and is not caught yet.
bool any_uncaught(const std::vector<MutantTrial>& trials);

/// Whether all mutants that are not caught equalled the right outputs on every set so far.
bool uncaught_never_differed(const std::vector<MutantTrial>& trials);

/// Whether all mutants that are not caught differed on at most half of `sets` timed sets: then more
/// sets may catch them.
bool uncaught_seldom_differ(const std::vector<MutantTrial>& trials, int sets);

/// Stops trying mutants that are lost so far.
void drop_lost(std::vector<MutantTrial>& trials);

/// The mutants that apply, are not lost and were not caught, with commas between.
std::string names_uncaught(const std::vector<MutantTrial>& trials);

}  // namespace warpsmith::sandbox
