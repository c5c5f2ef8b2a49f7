// SPDX-License-Identifier: Apache-2.0
#include "policy/text/unicode.hpp"

#include <utf8proc.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <stdexcept>

namespace warpsmith::policy {
namespace {

uint8_t byte_of(std::string_view bytes, size_t i) {
  return static_cast<uint8_t>(bytes[i]);
}

/// The length of the character that begins with this byte; 0 if none does.
size_t length_of_lead(uint8_t lead) {
  if (lead < 0x80) return 1;
  if (lead >= 0xC2 && lead <= 0xDF) return 2;
  if (lead >= 0xE0 && lead <= 0xEF) return 3;
  if (lead >= 0xF0 && lead <= 0xF4) return 4;
  return 0;
}

/// Checks the second byte, whose range is narrower after some first bytes: no overlong forms, no
/// surrogates, nothing above U+10FFFF.
bool is_continuation(uint8_t lead, size_t index, uint8_t byte) {
  uint8_t low = 0x80;
  uint8_t high = 0xBF;
  if (index == 1) {
    if (lead == 0xE0) low = 0xA0;
    if (lead == 0xED) high = 0x9F;
    if (lead == 0xF0) low = 0x90;
    if (lead == 0xF4) high = 0x8F;
  }
  return byte >= low && byte <= high;
}

int category(char32_t character) {
  return utf8proc_category(static_cast<utf8proc_int32_t>(character));
}

}  // namespace

Utf8Step next_utf8(std::string_view bytes) {
  const uint8_t lead = byte_of(bytes, 0);
  const size_t length = length_of_lead(lead);
  if (length == 0) return {Utf8State::invalid, 1};
  if (length == 1) return {Utf8State::valid, 1, lead};
  char32_t character = lead & (0xFFU >> (length + 1));
  for (size_t i = 1; i < length; ++i) {
    if (i == bytes.size()) return {Utf8State::incomplete, i};
    if (!is_continuation(lead, i, byte_of(bytes, i))) return {Utf8State::invalid, i};
    character = (character << 6U) | (byte_of(bytes, i) & 0x3FU);
  }
  return {Utf8State::valid, length, character};
}

std::string to_valid_utf8(std::string_view bytes) {
  std::string out;
  out.reserve(bytes.size());
  while (!bytes.empty()) {
    const Utf8Step step = next_utf8(bytes);
    if (step.state == Utf8State::valid) {
      out.append(bytes.substr(0, step.length));
    } else {
      out.append("\xEF\xBF\xBD");
    }
    bytes.remove_prefix(step.length);
  }
  return out;
}

void append_utf8(char32_t character, std::string& out) {
  utf8proc_uint8_t buffer[4];
  const auto length = utf8proc_encode_char(static_cast<utf8proc_int32_t>(character), buffer);
  out.append(reinterpret_cast<const char*>(buffer), static_cast<size_t>(length));
}

bool is_whitespace(char32_t c) {
  return (c >= 0x09 && c <= 0x0D) || c == 0x20 || c == 0x85 || c == 0xA0 || c == 0x1680 ||
         (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F ||
         c == 0x3000;
}

bool is_word(char32_t c) {
  if (c == 0x200C || c == 0x200D) return true;
  const int kind = category(c);
  return (kind >= UTF8PROC_CATEGORY_LU && kind <= UTF8PROC_CATEGORY_NL) ||
         kind == UTF8PROC_CATEGORY_PC;
}

bool is_numeric(char32_t c) {
  const int kind = category(c);
  return kind >= UTF8PROC_CATEGORY_ND && kind <= UTF8PROC_CATEGORY_NO;
}

std::string normalize_nfc(std::string_view text) {
  const bool ascii = std::all_of(text.begin(), text.end(),
                                 [](char c) { return static_cast<unsigned char>(c) < 0x80; });
  if (ascii) return std::string(text);
  utf8proc_uint8_t* mapped = nullptr;
  const auto length =
      utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                   static_cast<utf8proc_ssize_t>(text.size()), &mapped,
                   static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE));
  const std::unique_ptr<utf8proc_uint8_t, void (*)(void*)> owner(mapped, std::free);
  if (length < 0) throw std::invalid_argument("normalize_nfc: the text is not valid UTF-8");
  return {reinterpret_cast<const char*>(mapped), static_cast<size_t>(length)};
}

}  // namespace warpsmith::policy
