// SPDX-License-Identifier: Apache-2.0
// Splits text into pieces by the regular expressions of a tokenizer file (Oniguruma's syntax,
// matched by PCRE2); BPE merges do not cross the pieces' boundaries. Pure.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "runtime/result.hpp"

namespace warpsmith::policy {

/// A compiled pattern; safe to use from several threads.
class Regex {
 public:
  /// `parse_failed` has the pattern, the offset and PCRE2's message; `unsupported` for a construct
  /// of Oniguruma without translation.
  static Result<Regex> compile(std::string_view pattern);

  /// The first match at or after `start`, as byte offsets [begin, end). `text` is valid UTF-8.
  /// Throws std::runtime_error if PCRE2 fails, for example at its limit of steps.
  std::optional<std::pair<size_t, size_t>> find(std::string_view text, size_t start) const;

 private:
  struct Free {
    void operator()(void* code) const noexcept;
  };
  explicit Regex(void* code) : code_(code, Free{}) {}

  std::shared_ptr<void> code_;
};

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
