// SPDX-License-Identifier: Apache-2.0
// Text that commands print: numbers in a format, and text of tasks, compilers and candidates made
// safe for a terminal or an HTML page. Pure.
#pragma once

#include <array>
#include <cstdio>
#include <string>
#include <string_view>

namespace warpsmith::commands {

/// Formats as printf does, up to 319 characters.
template <class... Args>
std::string formatted(const char* format, Args... args) {
  std::array<char, 320> text{};
  (void)std::snprintf(text.data(), text.size(), format, args...);
  return text.data();
}

/// Formats a number with that many digits after the point.
std::string fixed(double value, int digits);

/// Replaces control characters except new lines and tabs by \xHH: a terminal would obey them.
std::string for_terminal(std::string_view text);

/// Escapes the five characters that HTML reserves.
std::string for_html(std::string_view text);

}  // namespace warpsmith::commands
