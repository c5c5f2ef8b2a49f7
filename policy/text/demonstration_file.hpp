// SPDX-License-Identifier: Apache-2.0
// Files of demonstrations, one JSON object per line, in the chat formats that docs/recipe.md lists:
// messages of OpenAI's form, conversations of ShareGPT's, and prompts with completions.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "policy/text/chat_format.hpp"
#include "runtime/model_turn.hpp"
#include "runtime/result.hpp"

namespace warpsmith::policy {

struct Demonstration {
  std::string task_id;
  std::vector<ChatMessage> messages;  // tool calls are in the content
};

/// Reads all lines; `syntax` is how the model writes the calls in `tool_calls`. `not_found` names
/// the file, `parse_failed` the file, the line, the key and the remedy.
Result<std::vector<Demonstration>> read_demonstrations(const std::filesystem::path& file,
                                                       ToolSyntax syntax);

/// Parses one line. Keys that could change what is learned are read or refused; a null counts as
/// absent. `parse_failed` names the key and the remedy.
Result<Demonstration> parse_demonstration(const std::string& line, ToolSyntax syntax);

}  // namespace warpsmith::policy
