// SPDX-License-Identifier: Apache-2.0
// Which candidate is promoted: one that is correct on every declared shape, and on each of them
// faster than every incumbent by a margin that the 95 % intervals support. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "commands/optimize/attempt.hpp"

namespace warpsmith::commands {

/// A candidate compared with one incumbent on one shape.
struct Comparison {
  std::string shape, incumbent;  // "eager", "compile", "cuda-graph", or a user's kernel by its name
  double speedup = 0;            // t_incumbent / t_candidate
  std::optional<Interval> interval;  // none: not measured, so nothing is proved
  bool clears = false;               // its low end reaches 1 + margin
};

/// Whether one candidate is promoted, and why.
struct CandidateDecision {
  std::string name;
  bool promoted = false;
  std::string why;   // of a promotion too
  double score = 0;  // geometric mean over the shapes of the speed-up against eager, low ends
  std::vector<Comparison> comparisons;
  std::vector<std::string> unmeasured;  // "max-autotune on get_inputs: WHY": no incumbents
};

/// Indices refer to the candidates.
struct Promotion {
  std::vector<CandidateDecision> decisions;  // one for each candidate, in their order
  std::optional<size_t> winner;              // the promoted candidate with the highest score
};

/// What no candidate was compared with, each line once.
std::vector<std::string> unmeasured_incumbents(const Promotion& promotion);

/// `user_kernels` must be correct and judged on the same shapes and stack. `margin`: 0.05
/// asks for 5 %.
Promotion promote(const std::vector<Attempt>& user_kernels, const std::vector<Attempt>& candidates,
                  double margin);

/// The score of a correct attempt; 0 if it is not correct or a shape was not timed.
double score_of(const Attempt& attempt);

}  // namespace warpsmith::commands
