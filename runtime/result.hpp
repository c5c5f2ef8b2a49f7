// SPDX-License-Identifier: Apache-2.0
// Result<T>: a value, or a failure that the caller can act on. Bugs and broken devices throw
// instead.
#pragma once

#include <string>
#include <tl/expected.hpp>
#include <type_traits>
#include <utility>

#include "runtime/error_code.hpp"

// NOLINTBEGIN(bugprone-macro-parentheses): a declaration and a name cannot be in parentheses.
/// `TRY(auto x, f());` declares x with the value of f(), or returns f()'s error from the function.
/// Moves from a temporary, copies from a variable.
#define TRY(declaration, ...) \
  TRY_STEP(WARPSMITH_JOIN(tried_, __COUNTER__), declaration, (__VA_ARGS__))
#define TRY_STEP(tried, declaration, result)                                           \
  auto&& tried = result;                                                               \
  if (!(tried)) return ::tl::unexpected(std::forward<decltype(tried)>(tried).error()); \
  declaration = *std::forward<decltype(tried)>(tried)
/// Returns f()'s error from the function and drops a value. Does not compile for values that cannot
/// be copied: a dropped lease or temporary folder would end at once.
#define TRY_VOID(...) TRY_VOID_STEP(WARPSMITH_JOIN(tried_, __COUNTER__), (__VA_ARGS__))
#define TRY_VOID_STEP(tried, result)                                                     \
  do {                                                                                   \
    auto&& tried = result;                                                               \
    static_assert(::warpsmith::can_drop_value<std::remove_cvref_t<decltype(tried)>>,     \
                  "the value would end here: keep it with TRY");                         \
    if (!(tried)) return ::tl::unexpected(std::forward<decltype(tried)>(tried).error()); \
  } while (false)
// NOLINTEND(bugprone-macro-parentheses)
#define WARPSMITH_JOIN(a, b) WARPSMITH_JOIN_STEP(a, b)
#define WARPSMITH_JOIN_STEP(a, b) a##b

namespace warpsmith {

/// For TRY_VOID.
template <class R>
constexpr bool can_drop_value =
    std::is_void_v<typename R::value_type> || std::is_copy_constructible_v<typename R::value_type>;

/// A failure as a value. The message says what failed and where, what was expected and what was
/// found.
struct Error {
  ErrorCode code = ErrorCode::infrastructure;
  std::string message;
};

template <class T>
using Result = tl::expected<T, Error>;

/// `return fail(ErrorCode::not_found, "...")` from any function that returns a Result.
inline tl::unexpected<Error> fail(ErrorCode code, std::string message) {
  return tl::unexpected<Error>{Error{code, std::move(message)}};
}

/// Passes an error on, with `context` in front of its message.
inline tl::unexpected<Error> fail(const std::string& context, Error error) {
  error.message = context + ": " + error.message;
  return tl::unexpected<Error>{std::move(error)};
}

}  // namespace warpsmith
