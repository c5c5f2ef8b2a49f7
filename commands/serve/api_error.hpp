// SPDX-License-Identifier: Apache-2.0
// Errors of the HTTP interface in OpenAI's form, and readers of single JSON values that return
// them. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>

#include "runtime/json_text.hpp"

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

// The readers' errors name the parameter, what was expected and what was found.

/// "param: expected `what`, got …".
tl::unexpected<ApiError> unexpected_value(const std::string& param, const std::string& what,
                                          const nlohmann::ordered_json& got);

ApiResult<bool> read_flag(const std::string& param, const nlohmann::ordered_json& value);
ApiResult<double> read_number(const std::string& param, const nlohmann::ordered_json& value,
                              double low, double high);
ApiResult<int64_t> read_whole(const std::string& param, const nlohmann::ordered_json& value,
                              int64_t low, int64_t high);
ApiResult<std::string> read_string(const std::string& param, const nlohmann::ordered_json& value);

/// Parses a body: an object of limited depth.
ApiResult<nlohmann::ordered_json> read_object(std::string_view body);

}  // namespace warpsmith::commands
