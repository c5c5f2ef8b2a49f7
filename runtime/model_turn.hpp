// SPDX-License-Identifier: Apache-2.0
// One turn of a model: why its sampling ended, and the tool calls in its text. Also the schema by
// which a tool describes itself.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "runtime/describe.hpp"

namespace warpsmith {

/// Why a generation request ended.
enum class FinishReason : uint8_t {
  none,        // more tokens follow
  stop_token,  // the last token is one of the stop tokens
  length,      // as many tokens as the request allows are sampled
  context,     // the session has reached its maximum number of tokens
};

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

  WARPSMITH_RECORD(name, arguments)
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
