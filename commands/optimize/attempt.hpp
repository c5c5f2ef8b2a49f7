// SPDX-License-Identifier: Apache-2.0
// One submission that `optimize` judged: its verdict on each declared shape. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "runtime/result.hpp"
#include "runtime/verdict.hpp"

namespace warpsmith::commands {

enum class AttemptRole : uint8_t {
  candidate,
  user_kernel,  // of --baseline: what a candidate must beat
};

/// The verdict on one declared shape.
struct ShapeAttempt {
  std::string shape;  // the function that declares it, e.g. "get_inputs"
  Verdict verdict;

  /// The times of the declared shape; null if it was not timed.
  const ShapeResult* times() const;
};

struct Attempt {
  std::string name;  // of its folder or file
  AttemptRole role = AttemptRole::candidate;
  std::string key;                   // SHA-256 of contract and files
  std::string found;                 // where the submission comes from
  std::vector<ShapeAttempt> shapes;  // the last one is not correct, or all are there

  bool correct() const;
};

/// One line of the journal, without a line end.
std::string to_json_line(const Attempt& attempt);
/// Reads such a line. `parse_failed` says what is wrong in it.
Result<Attempt> attempt_of(const std::string& line);

}  // namespace warpsmith::commands
