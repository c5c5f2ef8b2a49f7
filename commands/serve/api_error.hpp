// SPDX-License-Identifier: Apache-2.0
// Errors of the HTTP interface, in OpenAI's form. Pure.
#pragma once

#include <string>
#include <tl/expected.hpp>
#include <utility>

namespace warpsmith::commands {

/// An answer that is not 200.
struct ApiError {
  int status = 400;
  std::string message;
  std::string param;  // the parameter at fault; empty: none
  std::string code;   // for programs, e.g. "context_length_exceeded"; empty: none
  std::string type = "invalid_request_error";
  int retry_after_s = 0;  // header Retry-After; 0: none
};

template <class T>
using ApiResult = tl::expected<T, ApiError>;

/// Status 400 that names the parameter; the message begins with it.
tl::unexpected<ApiError> refuse_parameter(const std::string& param, const std::string& message,
                                          const std::string& code = {});

/// {"error": {"message", "type", "param", "code"}}.
std::string error_body(const ApiError& error);

}  // namespace warpsmith::commands
