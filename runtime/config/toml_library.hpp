// SPDX-License-Identifier: Apache-2.0
// The TOML library, with its assertions turned into exceptions. Only for the sources of the reader.
#pragma once

// Some malformed texts ("[.a]") fail an assertion of toml++ 3.3, and are undefined behaviour
// without assertions. Here assertions are always on, and throw.
#include <stdexcept>
namespace warpsmith {
constexpr void toml_assertion(bool holds) {
  if (!holds) throw std::runtime_error("malformed key or table header");
}
}  // namespace warpsmith
#undef NDEBUG
#define TOML_ASSERT(expr) warpsmith::toml_assertion(static_cast<bool>(expr))
#include <toml++/toml.h>
