// SPDX-License-Identifier: Apache-2.0
// Readers of single JSON values; an error names the parameter, what was expected and what was
// found. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "commands/serve/api_error.hpp"
#include "runtime/json_text.hpp"

namespace warpsmith::commands {

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
