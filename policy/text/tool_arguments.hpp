// SPDX-License-Identifier: Apache-2.0
// The arguments of tool calls as JSON: what a model, an endpoint or a client wrote, and the types
// of values that a syntax writes as text. Pure.
#pragma once

#include <optional>
#include <string>

#include "runtime/json_text.hpp"
#include "runtime/model_turn.hpp"

namespace warpsmith::policy {

/// The object with the arguments of a call, or a string that holds the object. Null, a blank string
/// and the string "null" are an empty object. Nullopt for all else.
std::optional<nlohmann::ordered_json> read_arguments(const nlohmann::ordered_json& written);

/// The arguments of a call as a JSON object. `written`: the object as the model wrote it, whose
/// types are kept; empty if its syntax writes values as text. A text then has a type that the
/// tool's JSON schema (`parameters`) allows: `type`, `enum`, `const`, `anyOf`, `oneOf`, `allOf` and
/// `$ref` within the schema are followed. It stays a string if the schema names no type, or if the
/// text is no JSON value of an allowed type.
nlohmann::ordered_json typed_arguments(const ParsedCall& call, const std::string& written,
                                       const nlohmann::ordered_json& parameters);

}  // namespace warpsmith::policy
