// SPDX-License-Identifier: Apache-2.0
// What `optimize` found, as JSON, as one HTML page and as text. Pure.
#pragma once

#include <string>
#include <vector>

#include "commands/optimize/promotion.hpp"

namespace warpsmith::commands {

/// An entry without a verdict, with the reason.
struct LeftOut {
  std::string name, reason;
};

/// What the judge's `profile` says of the promoted kernel.
struct WinnerProfile {
  std::string json;  // each kernel that ran; empty where none are recorded: on CPUs
  std::string text;  // for people, or why there is no profile; empty: nothing was promoted
};

struct OptimizeReport {
  std::string operator_file, contract, numerics;
  std::string stack;  // JSON of the machine and its software
  double margin = 0.05;
  std::vector<std::string> shapes;  // the functions that declare them
  std::vector<Attempt> user_kernels, candidates;
  Promotion promotion;
  std::vector<LeftOut> left_out;
  size_t not_begun = 0;   // candidates beyond the budget, or after Ctrl-C
  bool stopped = false;   // by Ctrl-C: the decision is not the last one
  std::string runner_up;  // the best other correct one; empty: none
  std::string diff;       // from the runner-up's sources to the promoted ones
  WinnerProfile profile;
  std::string export_note;  // why there is no export; empty: there is one, or nothing was promoted
  std::string asked;        // what a brain was asked and used; empty: a folder was judged
};

/// The result in one line: "promoted: a.cpp", or of what Ctrl-C stopped how far it came.
std::string decision(const OptimizeReport& report);

std::string to_json(const OptimizeReport& report);
/// One page without scripts or files beside it.
std::string to_html(const OptimizeReport& report);
/// A line for each candidate, then the result.
std::string to_text(const OptimizeReport& report);

}  // namespace warpsmith::commands
