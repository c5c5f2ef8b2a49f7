// SPDX-License-Identifier: Apache-2.0
// A tool call without its syntax, and the schema by which a tool describes itself.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace warpsmith {

/// How a model writes a call.
enum class ToolSyntax : uint8_t {
  xml,     // <tool_call> <function=NAME> <parameter=KEY> value … (Qwen3-Coder): no escaping of code
  hermes,  // <tool_call> {"name": …, "arguments": {…}} (Qwen2.5, Qwen3, Hermes)
};

/// One call, without its syntax. A value that was not a JSON string is kept as its JSON text.
struct ParsedCall {
  std::string name;
  std::map<std::string, std::string> arguments;

  bool operator==(const ParsedCall&) const = default;

  template <class Archive>
  void serialize(Archive& archive) {
    archive(name, arguments);
  }
};

/// One parameter of a tool. `type` is a JSON-schema type: "string", "integer", "boolean", "array".
struct ToolParameter {
  std::string name;
  std::string type = "string";
  std::string description;
  bool required = true;
};

struct ToolSchema {
  std::string name;
  std::string description;
  std::vector<ToolParameter> parameters;
};

}  // namespace warpsmith
