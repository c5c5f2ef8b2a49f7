// SPDX-License-Identifier: Apache-2.0
// A position in a text for hand-written parsers, with error messages that name the line. Pure.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

#include "runtime/result.hpp"

namespace warpsmith::policy {

/// Reads a text, which must outlive it, from front to back.
class TextCursor {
 public:
  explicit TextCursor(std::string_view text) : text_(text) {}

  bool at_end() const { return at_ == text_.size(); }
  std::string_view rest() const { return text_.substr(at_); }

  /// Skips `token` and returns true if the rest begins with it.
  bool take(std::string_view token) {
    if (!rest().starts_with(token)) return false;
    at_ += token.size();
    return true;
  }

  void skip_space() { at_ = std::min(text_.find_first_not_of(" \t\r\n", at_), text_.size()); }

  /// Returns the text up to `end` and skips both; `parse_failed` if `end` does not follow.
  Result<std::string_view> take_until(std::string_view end) {
    const size_t found = text_.find(end, at_);
    if (found == std::string_view::npos) {
      return fail(ErrorCode::parse_failed, "line " + std::to_string(line()) + ": expected `" +
                                               std::string(end) + "`, got the end of the turn");
    }
    const std::string_view taken = text_.substr(at_, found - at_);
    at_ = found + end.size();
    return taken;
  }

  /// "line 3: expected X, got `abc…`"
  Error expected(std::string_view what) const {
    return {ErrorCode::parse_failed, "line " + std::to_string(line()) + ": expected " +
                                         std::string(what) + ", got " + here()};
  }

  /// Counted from 1.
  size_t line() const {
    return 1 + static_cast<size_t>(std::ranges::count(text_.substr(0, at_), '\n'));
  }

 private:
  /// The beginning of the rest of this line, quoted and cut between characters.
  std::string here() const {
    if (at_end()) return "the end of the turn";
    std::string_view piece = rest().substr(0, std::min<size_t>(rest().find('\n'), 24));
    while (!piece.empty() && piece.size() < rest().size() && is_inside(rest()[piece.size()])) {
      piece.remove_suffix(1);
    }
    return piece.empty() ? "an empty line" : "`" + std::string(piece) + "`";
  }
  static bool is_inside(char c) { return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U; }

  std::string_view text_;
  size_t at_ = 0;
};

}  // namespace warpsmith::policy
