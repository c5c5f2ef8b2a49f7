// SPDX-License-Identifier: Apache-2.0
// The parts of a request that are text: messages, tools, prompts. Pure.
#pragma once

#include <string>
#include <vector>

#include "commands/serve/api_request.hpp"
#include "runtime/json_text.hpp"

namespace warpsmith::commands {

/// "messages". The system messages (or developer's) come first and are joined. An assistant's
/// `tool_calls` are written in the model's syntax after its words.
ApiResult<std::vector<policy::ChatMessage>> read_messages(const nlohmann::ordered_json& value,
                                                          ToolSyntax syntax);

/// "tools": functions with JSON schemas.
ApiResult<std::vector<ApiTool>> read_tools(const nlohmann::ordered_json& value);

/// "prompt": a text, tokens, or a list of either.
ApiResult<std::vector<ApiPrompt>> read_prompts(const nlohmann::ordered_json& value);

/// "stop": a text or up to four.
ApiResult<std::vector<std::string>> read_stop(const nlohmann::ordered_json& value);

}  // namespace warpsmith::commands
