// SPDX-License-Identifier: Apache-2.0
// The little Unicode that tokenizers need: UTF-8 by steps, classes of characters, NFC.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace warpsmith::policy {

enum class Utf8State : uint8_t {
  valid,       // a whole character
  invalid,     // bytes that no continuation can make valid
  incomplete,  // a valid beginning that the text ends in
};

struct Utf8Step {
  Utf8State state = Utf8State::valid;
  size_t length = 0;       // bytes of the step, at least 1
  char32_t character = 0;  // if valid
};

/// The step at the start of `bytes`, which are not empty. Invalid steps are the longest prefixes of
/// a character (the Unicode standard's "maximal subparts"), as Rust's lossy conversion takes them.
Utf8Step next_utf8(std::string_view bytes);

/// Every invalid or incomplete step replaced by U+FFFD.
std::string to_valid_utf8(std::string_view bytes);

/// Appends one character.
void append_utf8(char32_t character, std::string& out);

/// The White_Space property.
bool is_whitespace(char32_t character);
/// What `\w` means to regular expressions: letters, marks, decimal digits, connectors, joiners.
bool is_word(char32_t character);
/// Any kind of number (Nd, Nl, No).
bool is_numeric(char32_t character);

/// Normalisation form C of valid UTF-8.
std::string normalize_nfc(std::string_view text);

}  // namespace warpsmith::policy
