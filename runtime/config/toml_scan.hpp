// SPDX-License-Identifier: Apache-2.0
// Finds the texts that the TOML library (toml++ 3.3) does not survive, before it reads them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace warpsmith {

/// Each part of a dotted key makes a table, and the library destroys nested tables by recursion.
/// (It bounds other nesting itself, at 256 values.)
inline constexpr int most_dots_of_a_key = 32;

struct TomlFault {
  uint32_t line = 0;  ///< From 1.
  std::string text;
};

/// The first key of more dots than that, or the first byte beyond ASCII outside strings and
/// comments, which is not TOML (and undefined behaviour in the library). Pure.
std::optional<TomlFault> toml_fault(std::string_view text);

}  // namespace warpsmith
