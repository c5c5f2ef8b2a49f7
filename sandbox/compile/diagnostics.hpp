// SPDX-License-Identifier: Apache-2.0
// Shortens the text of compilers and linkers to the few lines that an agent needs, in valid UTF-8.
// Pure.
#pragma once

#include <cstddef>
#include <string>
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

/// Errors as `kernel.cpp:line:col: error: …`, and undefined references, at most `max_lines`. Names
/// of temporary files are removed, so that equal sources give equal texts.
std::string summarise_errors(const std::string& compiler_text, size_t max_lines = 5);

/// The same for NVRTC, nvcc and ptxas, as `kernels.cu:line: error: …`.
std::string summarise_cuda_errors(const std::string& compiler_text, size_t max_lines = 5);

/// The same for a build with g++ and nvcc, as `FILE:line: error: …`; for a Python error its last
/// line.
std::string summarise_host_errors(const std::string& compiler_text, size_t max_lines = 5);

}  // namespace warpsmith::sandbox
