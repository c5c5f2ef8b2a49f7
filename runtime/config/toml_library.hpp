// SPDX-License-Identifier: Apache-2.0
// The TOML library (toml++ 3.3), made safe for untrusted text. Included only by sources that parse
// TOML.
#pragma once

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

namespace warpsmith {

/// Some malformed texts ("[.a]") fail an assertion of the library, and are undefined behaviour
/// without assertions. Here assertions are always on, and throw.
constexpr void toml_assertion(bool holds) {
  if (!holds) throw std::runtime_error("malformed key or table header");
}

/// Each part of a dotted key makes a table, and the library destroys nested tables by recursion.
/// (It bounds other nesting itself, at 256 values.)
inline constexpr int max_key_dots = 32;

struct TomlFault {
  uint32_t line = 0;  ///< From 1.
  std::string text;
};

/// Finds the first key with more dots than that, or the first non-ASCII byte outside strings and
/// comments, which is not TOML (and undefined behaviour in the library). Pure.
std::optional<TomlFault> toml_fault(std::string_view text);

}  // namespace warpsmith

#undef NDEBUG
#define TOML_ASSERT(expr) warpsmith::toml_assertion(static_cast<bool>(expr))
#include <toml++/toml.h>
