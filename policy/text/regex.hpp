// SPDX-License-Identifier: Apache-2.0
// Regular expressions of tokenizer files: Oniguruma's syntax, matched by PCRE2.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "runtime/result.hpp"

namespace warpsmith::policy {

/// Translates an Oniguruma pattern for PCRE2. Expands `\s`, `\S` and `\w`, because the libraries
/// disagree about rare characters. `unsupported` for a construct without translation.
Result<std::string> translate_pattern(std::string_view pattern);

/// A compiled pattern; safe to use from several threads.
class Regex {
 public:
  /// `parse_failed` has the pattern, the offset and PCRE2's message.
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

}  // namespace warpsmith::policy
