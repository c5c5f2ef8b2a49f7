// SPDX-License-Identifier: Apache-2.0
// Python text and JSON of task files: which names a text defines, JSON with a message for each
// defect, and JSON values as Python writes them. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/json_text.hpp"
#include "runtime/result.hpp"

namespace warpsmith::synthesis {

/// Keeps the order of members: that of a definition's inputs is the order of arguments.
using OrderedJson = nlohmann::ordered_json;

/// "class Model" or "def get_inputs", without indentation.
struct Needed {
  std::string_view keyword, name;
};

/// True if a line of the text, without indentation, defines that name.
bool has_definition(std::string_view text, const Needed& part);

/// What the text defines at its top level, for a message: "class Model, def get_inputs", or
/// "nothing".
std::string definitions_in(std::string_view text);

/// True for an ASCII name of Python that is no keyword.
bool is_python_name(std::string_view text);

/// The value as Python writes it, on one line.
std::string python_literal(const OrderedJson& value);

/// A literal of Python for the text, without escapes where possible.
std::string python_quoted(const std::string& text);

/// Reads JSON of limited depth and number of members. `parse_failed`: invalid, or beyond a limit.
Result<OrderedJson> read_json(std::string_view text);

/// The beginning of a value, for a message.
std::string shown(const OrderedJson& value);

enum class JsonType : uint8_t { string, array, object };

/// The member of that type. `parse_failed` if `object` is no object, or names the member with what
/// was found.
Result<const OrderedJson*> member(const OrderedJson& object, const std::string& key, JsonType type);

}  // namespace warpsmith::synthesis
