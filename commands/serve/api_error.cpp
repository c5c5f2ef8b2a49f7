// SPDX-License-Identifier: Apache-2.0
#include "commands/serve/api_error.hpp"

#include <nlohmann/json.hpp>

#include "runtime/json_text.hpp"

namespace warpsmith::commands {

tl::unexpected<ApiError> refuse_parameter(const std::string& param, const std::string& message,
                                          const std::string& code) {
  return tl::unexpected<ApiError>{
      {.message = param + ": " + message, .param = param, .code = code}};
}

std::string error_body(const ApiError& error) {
  const auto or_null = [](const std::string& text) {
    return text.empty() ? nlohmann::json(nullptr) : nlohmann::json(text);
  };
  return json_text(nlohmann::json{{"error",
                                   {{"message", error.message},
                                    {"type", error.type},
                                    {"param", or_null(error.param)},
                                    {"code", or_null(error.code)}}}});
}

}  // namespace warpsmith::commands
