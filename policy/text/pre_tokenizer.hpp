// SPDX-License-Identifier: Apache-2.0
// Cuts text into the pieces that merges never cross.
#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "policy/text/regex.hpp"

namespace warpsmith::policy {

/// Every match of the pattern is a piece of its own, and so is what lies between ("Isolated").
struct SplitStep {
  Regex pattern;
};

/// Numbers become pieces: each digit alone, or runs of them.
struct DigitsStep {
  bool individual = true;
};

/// GPT-2's pattern over each piece, unless another step has cut already; the bytes themselves are
/// left as they are. Always the last step.
struct ByteLevelStep {
  bool add_prefix_space = false;  // before every piece that does not begin with one
  bool use_pattern = true;
};

using PreTokenizerStep = std::variant<SplitStep, DigitsStep, ByteLevelStep>;

class PreTokenizer {
 public:
  PreTokenizer() = default;
  explicit PreTokenizer(std::vector<PreTokenizerStep> steps) : steps_(std::move(steps)) {}

  /// Pieces of valid UTF-8, none empty; joined they give the text (but for prefix spaces).
  std::vector<std::string> split(std::string_view text) const;

 private:
  std::vector<PreTokenizerStep> steps_;
};

}  // namespace warpsmith::policy
