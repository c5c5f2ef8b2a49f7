// SPDX-License-Identifier: Apache-2.0
// Decides which part of a growing text may be sent: whole characters, in which no marker begins.
// Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace warpsmith::commands {

/// Bytes come in pieces of any size; a marker and a character may span several. Memory: the bytes
/// held back, fewer than the longest marker and one character, and after a marker all that follows.
class TextGate {
 public:
  /// `markers`: none is empty.
  explicit TextGate(std::vector<std::string> markers) : markers_(std::move(markers)) {}

  /// Adds bytes. Returns the text that may be sent now, as valid UTF-8; invalid bytes become
  /// U+FFFD. After the first marker it returns nothing more.
  std::string add(std::string_view bytes);
  /// True once a marker was found. Of several at one place, it is the first of the list.
  bool found() const { return found_; }
  /// The bytes held back; once a marker is found, from the marker on.
  const std::string& held() const { return held_; }
  /// Returns the bytes held back as valid UTF-8, and forgets them.
  std::string flush();

 private:
  std::string held_;
  std::vector<std::string> markers_;
  bool found_ = false;
};

}  // namespace warpsmith::commands
