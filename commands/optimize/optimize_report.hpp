// SPDX-License-Identifier: Apache-2.0
// The report of `optimize` as JSON, as one HTML page and as text, with a diff of sources. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "commands/optimize/promotion.hpp"

namespace warpsmith::commands {

/// An entry without a verdict, with the failure.
struct LeftOut {
  std::string name;
  InfraFailure failure;
};

/// The Python package of a promoted kernel.
struct ExportPlace {
  std::string folder;  // contains the package, its test and README.md
  std::string package;
};

/// The judge's profile of the promoted kernel.
struct WinnerProfile {
  std::string json;  // each kernel that ran; empty if none are recorded: on CPUs
  std::string text;  // for people, or why there is no profile; empty: nothing was promoted
};

struct OptimizeReport {
  std::string operator_file, contract, numerics;
  std::string stack;  // JSON of the machine and its software
  double margin = 0.05;
  bool one_core = false;            // whether the contract times one core
  std::vector<std::string> shapes;  // the functions that declare them
  std::vector<Attempt> user_kernels, candidates;
  Promotion promotion;
  std::vector<LeftOut> left_out;
  size_t not_begun = 0;   // candidates beyond the budget, or after Ctrl-C
  bool stopped = false;   // by Ctrl-C: the decision is not final
  std::string runner_up;  // the best other correct one; empty: none
  std::string diff;       // from the runner-up's sources to the promoted ones
  WinnerProfile profile;
  std::optional<ExportPlace> exported;
  std::string export_note;  // why there is no export; empty: there is one, or nothing was promoted
  std::string brain_summary;  // what a brain did and used; empty: a folder was judged
};

/// The result in one line: "promoted: a.cpp", or, after Ctrl-C, how many candidates were judged.
std::string result_line(const OptimizeReport& report);

/// A line for each shape on which the operator cannot tell some wrong answers from right ones:
/// there a promotion proves little.
std::vector<std::string> weaknesses(const OptimizeReport& report);

std::string to_json(const OptimizeReport& report);
/// One page without scripts or further files.
std::string to_html(const OptimizeReport& report);
/// A line for each candidate, a table of its speed-ups, then the result with the lines that test
/// and import the export.
std::string to_text(const OptimizeReport& report);

/// Every line of both texts: "-" before those only in `from`, "+" before those only in `to`, a
/// blank before common ones. Texts whose product of lines exceeds 4 million are shown in full, one
/// after the other: the table would take too much memory.
std::string line_diff(std::string_view from, std::string_view to);

}  // namespace warpsmith::commands
