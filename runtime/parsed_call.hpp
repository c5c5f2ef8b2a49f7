// SPDX-License-Identifier: Apache-2.0
// A tool call as the model meant it, and what a tool says of itself: shared by grammar and tools.
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

/// One call, free of syntax. A value that was no string in JSON stands here as its JSON text.
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
