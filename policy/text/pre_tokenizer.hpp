// SPDX-License-Identifier: Apache-2.0
// Splits text into pieces; BPE merges do not cross their boundaries. Pure.
#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "policy/text/regex.hpp"

namespace warpsmith::policy {

/// Every match of the pattern becomes a piece, and so does the text between matches ("Isolated").
struct SplitStep {
  Regex pattern;
};

/// Numbers become pieces: single digits, or runs of digits.
struct DigitsStep {
  bool individual = true;
};

/// The last step: splits by GPT-2's pattern if `use_pattern`. Does not map bytes to characters.
struct ByteLevelStep {
  bool add_prefix_space = false;  // before every piece that does not begin with one
  bool use_pattern = true;
};

using PreTokenizerStep = std::variant<SplitStep, DigitsStep, ByteLevelStep>;

class PreTokenizer {
 public:
  PreTokenizer() = default;
  explicit PreTokenizer(std::vector<PreTokenizerStep> steps) : steps_(std::move(steps)) {}

  /// Splits valid UTF-8. No piece is empty; joined they are the text, except for prefix spaces.
  std::vector<std::string> split(std::string_view text) const;

 private:
  std::vector<PreTokenizerStep> steps_;
};

}  // namespace warpsmith::policy
