// SPDX-License-Identifier: Apache-2.0
// What the TOML library does not bound: the tables within tables that a dotted key makes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace warpsmith {

/// Each part of a key is a table of its own, and the library destroys them by recursion. It takes
/// 256 values within each other by itself.
inline constexpr int most_dots_of_a_key = 32;

/// The first line, from 1, with a key of more dots; strings and comments may hold any. Pure.
std::optional<uint32_t> line_of_too_deep_key(std::string_view text);

/// What is said of it.
std::string too_deep_key_text();

}  // namespace warpsmith
