// SPDX-License-Identifier: Apache-2.0
// Result<T>: a value, or a failure that the caller can act on. Bugs and broken devices throw
// instead.
#pragma once

#include <string>
#include <tl/expected.hpp>
#include <utility>

#include "runtime/error_code.hpp"

namespace warpsmith {

/// A failure as a value. The message says what failed, where, what was expected and what was found.
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
