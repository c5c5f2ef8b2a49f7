// SPDX-License-Identifier: Apache-2.0
// The parts of Unicode that tokenizers need: UTF-8 decoding, character classes, NFC. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace warpsmith::policy {

enum class Utf8State : uint8_t {
  valid,       // a whole character
  invalid,     // bytes that are not the beginning of a character
  incomplete,  // the beginning of a character, cut by the end of the text
};

struct Utf8Step {
  Utf8State state = Utf8State::valid;
  size_t length = 0;       // bytes of the step, at least 1
  char32_t character = 0;  // if valid
};

/// Decodes the beginning of `bytes`, which are not empty. An invalid step is the longest prefix of
/// a character ("maximal subpart" in the Unicode standard), as in Rust's lossy conversion.
Utf8Step next_utf8(std::string_view bytes);

/// Replaces every invalid or incomplete step by U+FFFD.
std::string to_valid_utf8(std::string_view bytes);

/// Appends one character.
void append_utf8(char32_t character, std::string& out);

/// The White_Space property.
bool is_whitespace(char32_t character);
/// `\w` in regular expressions: letters, marks, decimal digits, connectors, joiners.
bool is_word(char32_t character);
/// Any kind of number (Nd, Nl, No).
bool is_numeric(char32_t character);

/// Normalisation form C of valid UTF-8.
std::string normalize_nfc(std::string_view text);

}  // namespace warpsmith::policy
