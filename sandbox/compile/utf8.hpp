// SPDX-License-Identifier: Apache-2.0
// Finds the UTF-8 characters of a text: JSON must hold nothing else. Pure.
#pragma once

#include <cstddef>
#include <string_view>

namespace warpsmith::sandbox {

/// The size of the UTF-8 character at `at`, which lies within `text`; 0 if none begins there.
inline size_t character_bytes(std::string_view text, size_t at) {
  const auto byte_at = [text](size_t place) {
    return place < text.size() ? static_cast<unsigned char>(text[place]) : 0U;
  };
  const unsigned first = byte_at(at), second = byte_at(at + 1);
  if (first < 0x80) return 1;
  if (first < 0xC2 || first > 0xF4) return 0;
  const size_t count = first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
  for (size_t i = 1; i < count; ++i) {
    if ((byte_at(at + i) & 0xC0U) != 0x80U) return 0;
  }
  // Overlong forms, surrogates, and values beyond the last character.
  const bool never = (first == 0xE0 && second < 0xA0) || (first == 0xED && second > 0x9F) ||
                     (first == 0xF0 && second < 0x90) || (first == 0xF4 && second > 0x8F);
  return never ? 0 : count;
}

}  // namespace warpsmith::sandbox
