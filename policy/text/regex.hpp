// SPDX-License-Identifier: Apache-2.0
// Regular expressions of tokenizer files, matched with PCRE2 as Oniguruma would.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "runtime/result.hpp"

namespace warpsmith::policy {

/// An Oniguruma pattern for PCRE2: the classes `\s`, `\S` and `\w` spelled out, because the two
/// libraries disagree about rare characters. `unsupported` for what cannot be translated.
Result<std::string> translate_pattern(std::string_view pattern);

/// Compiled once, matched from any thread.
class Regex {
 public:
  /// `parse_failed` shows the pattern, the place and PCRE2's words.
  static Result<Regex> compile(std::string_view pattern);

  /// First match at or after `start`: byte offsets [begin, end). `text` is valid UTF-8. Throws if
  /// the match needs more steps than PCRE2 allows.
  std::optional<std::pair<size_t, size_t>> find(std::string_view text, size_t start) const;

 private:
  struct Free {
    void operator()(void* code) const noexcept;
  };
  explicit Regex(void* code) : code_(code, Free{}) {}

  std::shared_ptr<void> code_;
};

}  // namespace warpsmith::policy
