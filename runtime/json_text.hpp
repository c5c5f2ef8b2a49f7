// SPDX-License-Identifier: Apache-2.0
// Two helpers for writing JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

namespace warpsmith {

/// The value, or null if there is none.
template <class Json = nlohmann::json, class T>
Json nullable(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

/// Formats JSON on one line, or indented by `indent` spaces. Compiler output and file names need
/// not be UTF-8: invalid bytes are replaced.
template <class Json>
std::string json_text(const Json& json, int indent = -1) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

}  // namespace warpsmith
