// SPDX-License-Identifier: Apache-2.0
// Bounds the nesting of dotted keys, which the TOML library does not.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace warpsmith {

/// Each part of a dotted key makes a table, and the library destroys nested tables by recursion.
/// (It bounds other nesting itself, at 256 values.)
inline constexpr int most_dots_of_a_key = 32;

/// The first line, from 1, with a key of more dots than that; ignores strings and comments. Pure.
std::optional<uint32_t> line_of_too_deep_key(std::string_view text);

/// The complaint about such a key.
std::string too_deep_key_text();

}  // namespace warpsmith
