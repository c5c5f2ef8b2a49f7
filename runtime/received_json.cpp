// SPDX-License-Identifier: Apache-2.0
#include "runtime/received_json.hpp"

#include <charconv>

namespace warpsmith {
namespace {

constexpr size_t escape_bytes = 6;  // of \uXXXX

/// The number of the escape \uXXXX at `at`; 0 if there is none.
unsigned escape_at(std::string_view text, size_t at) {
  if (at + escape_bytes > text.size() || text[at] != '\\' || text[at + 1] != 'u') return 0;
  const char* const end = text.data() + at + escape_bytes;
  unsigned code = 0;
  const auto [stopped, error] = std::from_chars(end - 4, end, code, 16);
  return error == std::errc{} && stopped == end ? code : 0;
}

bool is_first_half(unsigned code) {
  return code >= 0xD800 && code <= 0xDBFF;
}

bool is_second_half(unsigned code) {
  return code >= 0xDC00 && code <= 0xDFFF;
}

}  // namespace

std::string without_lone_surrogates(std::string_view json) {
  std::string text{json};
  for (size_t at = text.find('\\'); at != std::string::npos; at = text.find('\\', at)) {
    const unsigned code = escape_at(text, at);
    const bool pair = is_first_half(code) && is_second_half(escape_at(text, at + escape_bytes));
    if (!pair && (is_first_half(code) || is_second_half(code))) {
      text.replace(at, escape_bytes, "\\ufffd");
    }
    at += pair ? 2 * escape_bytes : code != 0 ? escape_bytes : 2;
    if (at >= text.size()) break;
  }
  return text;
}

}  // namespace warpsmith
