// SPDX-License-Identifier: Apache-2.0
// An attempt of `optimize`: the verdict on a submission on each shape that the operator declares.
// Pure.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "commands/declared_shapes.hpp"
#include "runtime/describe.hpp"
#include "runtime/result.hpp"
#include "runtime/verdict.hpp"

namespace warpsmith::commands {

enum class AttemptRole : uint8_t {
  candidate,
  user_kernel,  // of --baseline: what a candidate must beat
};
constexpr auto names_of(AttemptRole) {
  return std::to_array<std::string_view>({"candidate", "user_kernel"});
}

/// The verdict on one declared shape.
struct ShapeAttempt {
  std::string shape;  // the function that declares it, e.g. "get_inputs"
  Verdict verdict;

  /// The times of the declared shape; null if it was not timed.
  const ShapeResult* times() const;
};

/// One submission that was judged.
struct Attempt {
  std::string name;  // of its folder or file
  AttemptRole role = AttemptRole::candidate;
  std::string key;                   // SHA-256 of contract and files
  std::string origin;                // where the submission comes from
  std::vector<ShapeAttempt> shapes;  // all of them, or up to the first that is not correct

  bool correct() const;
};

/// One line of the journal, without a line end.
std::string to_json_line(const Attempt& attempt);
/// Reads such a line. `parse_failed` says what is wrong in it.
Result<Attempt> attempt_of(const std::string& line);

}  // namespace warpsmith::commands
