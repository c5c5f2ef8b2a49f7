// SPDX-License-Identifier: Apache-2.0
#include "commands/serve/api_error.hpp"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "runtime/json_depth.hpp"
#include "runtime/json_text.hpp"
#include "runtime/received_json.hpp"

namespace warpsmith::commands {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t shown_bytes = 60;

/// The beginning of a value, for a message.
std::string shown(const Json& value) {
  std::string text = json_text(value);
  if (text.size() <= shown_bytes) return text;
  size_t end = shown_bytes;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) --end;
  return text.substr(0, end) + "…";
}

std::string number_text(double value) {
  return json_text(Json(value));
}

}  // namespace

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

tl::unexpected<ApiError> unexpected_value(const std::string& param, const std::string& what,
                                          const Json& got) {
  return refuse_parameter(param, "expected " + what + ", got " + shown(got));
}

ApiResult<bool> read_flag(const std::string& param, const Json& value) {
  if (value.is_boolean()) return value.get<bool>();
  return unexpected_value(param, "true or false", value);
}

ApiResult<double> read_number(const std::string& param, const Json& value, double low,
                              double high) {
  if (value.is_number()) {
    const auto number = value.get<double>();
    if (number >= low && number <= high) return number;
  }
  return unexpected_value(param, "a number from " + number_text(low) + " to " + number_text(high),
                          value);
}

ApiResult<int64_t> read_whole(const std::string& param, const Json& value, int64_t low,
                              int64_t high) {
  if (value.is_number_integer()) {
    const auto number = value.get<int64_t>();
    const bool wraps = value.is_number_unsigned() && number < 0;
    if (!wraps && number >= low && number <= high) return number;
  }
  return unexpected_value(param, fmt::format("a whole number from {} to {}", low, high), value);
}

ApiResult<std::string> read_string(const std::string& param, const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  return unexpected_value(param, "a string", value);
}

ApiResult<Json> read_object(std::string_view body) {
  JsonDepth depth;
  try {
    Json parsed = Json::parse(without_lone_surrogates(body), depth.watch());
    if (depth.exceeded()) {
      return tl::unexpected<ApiError>{{.message = "the body: JSON is nested too deeply"}};
    }
    if (parsed.is_object()) return parsed;
    return tl::unexpected<ApiError>{{.message = "the body: expected a JSON object"}};
  } catch (const Json::exception& error) {
    return tl::unexpected<ApiError>{
        {.message = std::string("the body: invalid JSON: ") + error.what()}};
  }
}

}  // namespace warpsmith::commands
