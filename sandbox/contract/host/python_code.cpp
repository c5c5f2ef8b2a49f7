// SPDX-License-Identifier: Apache-2.0
#include "sandbox/contract/host/python_code.hpp"

#include <algorithm>

namespace warpsmith::sandbox {
namespace {

void blank(std::string& code, size_t from, size_t to) {
  for (size_t at = from; at < to; ++at) {
    if (code[at] != '\n') code[at] = ' ';
  }
}

/// The place after the closing mark of the string whose opening mark ends at `at`. A string of one
/// line ends with the line at the latest.
size_t end_of_string(std::string_view text, size_t at, std::string_view mark) {
  for (; at < text.size(); ++at) {
    if (text[at] == '\\') {
      ++at;
    } else if (text.substr(at).starts_with(mark)) {
      return at + mark.size();
    } else if (text[at] == '\n' && mark.size() == 1) {
      return at;
    }
  }
  return text.size();
}

/// The mark of the string that begins at `at`: one quote, or three.
std::string_view mark_at(std::string_view text, size_t at) {
  const std::string_view one = text.substr(at, 1);
  const bool three = text.substr(at + 1, 1) == one && text.substr(at + 2, 1) == one;
  return text.substr(at, three ? 3 : 1);
}

/// The end of the comment or string at `at`; `at` itself where code stands.
size_t end_of_text(std::string_view text, size_t at) {
  if (text[at] == '#') return std::min(text.find('\n', at), text.size());
  if (text[at] != '"' && text[at] != '\'') return at;
  const std::string_view mark = mark_at(text, at);
  return end_of_string(text, at + mark.size(), mark);
}

}  // namespace

std::string python_code(std::string_view text) {
  std::string code{text};
  for (size_t at = 0; at < text.size();) {
    const size_t end = end_of_text(text, at);
    blank(code, at, end);
    at = std::max(at + 1, end);
  }
  return code;
}

}  // namespace warpsmith::sandbox
