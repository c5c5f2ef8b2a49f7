// SPDX-License-Identifier: Apache-2.0
// The TOML library, with its assertions made exceptions. For the sources of the reader alone.
#pragma once

// toml++ 3.3 takes some malformed texts ("[.a]") into an assertion, and into undefined behaviour
// where assertions are off. Here they are always on, and throw.
#include <stdexcept>
namespace warpsmith {
constexpr void toml_assertion(bool holds) {
  if (!holds) throw std::runtime_error("malformed key or table header");
}
}  // namespace warpsmith
#undef NDEBUG
#define TOML_ASSERT(expr) warpsmith::toml_assertion(static_cast<bool>(expr))
#include <toml++/toml.h>
