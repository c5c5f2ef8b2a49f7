// SPDX-License-Identifier: Apache-2.0
// Two small things that whoever writes JSON needs.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

namespace warpsmith {

/// The value; null for none.
template <class Json = nlohmann::json, class T>
Json nullable(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

/// On one line, or indented. Compilers' words and names of files need not be UTF-8: what is none is
/// replaced.
template <class Json>
std::string json_text(const Json& json, int indent = -1) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

}  // namespace warpsmith
