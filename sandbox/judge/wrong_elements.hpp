// SPDX-License-Identifier: Apache-2.0
// What the wrong elements of an output have in common, and what is likely the cause. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace warpsmith::sandbox {

/// One wrong element.
struct WrongElement {
  uint64_t index = 0;  // row-major
  double got = 0, expected = 0;
  bool unwritten = false;  // it still holds the judge's pattern
  double exchanged = 0;    // expected where this element lies if the last two axes are exchanged
};

/// How the elements of class `nonfinite` miss the reference. An output may be infinite by design.
struct NonfiniteCounts {
  uint64_t unwritten = 0;  // still holds the judge's pattern; of integers and booleans too
  uint64_t not_a_number = 0;
  uint64_t infinite = 0;  // where the reference is finite, or has the other sign
  uint64_t finite = 0;    // where the reference is not
};

/// One output with at least one wrong element.
struct WrongOutput {
  std::string name;
  std::vector<int64_t> shape;
  std::vector<bool> wrong;             // of each element that was read, row-major: all or the first
  std::vector<WrongElement> examples;  // the first wrong one, then others, evenly spread
  NonfiniteCounts nonfinite;

  bool is_whole() const;  // whether all elements were read
};

/// What is likely. An agent in training may read the text, but not the number: with its own values
/// the number gives the expected ones.
struct LikelyCause {
  std::string text;              // empty: nothing stands out
  std::optional<double> number;  // the constant factor or offset
};

LikelyCause likely_cause(const WrongOutput& output);

/// "y[3, 0]"; "y" for a scalar.
std::string element_name(const std::string& output, const std::vector<int64_t>& shape,
                         uint64_t index);

/// "12 not written, 3 not a number"; empty if all counts are zero.
std::string counts_text(const NonfiniteCounts& counts);

/// What a verdict says about the wrong elements of one call.
struct WrongReport {
  std::string element;               // the first wrong one: "y[3, 0]"
  uint64_t wrong = 0, elements = 0;  // of all outputs
  NonfiniteCounts nonfinite;
  bool partial = false;  // `nonfinite` and `cause` are those of the first elements
  LikelyCause cause;
  // Of that element; for the operator's owner only. `got` means nothing if it was not written.
  double got = 0, expected = 0;
  bool unwritten = false;
};

/// The report on the outputs that have wrong elements, at least one. `wrong`, `elements`: of all
/// outputs.
WrongReport report_on(const std::vector<WrongOutput>& outputs, uint64_t wrong, uint64_t elements);

}  // namespace warpsmith::sandbox
