// SPDX-License-Identifier: Apache-2.0
// How a served model reads a request: its tokens, its tools, and the calls of its history in the
// model's syntax. Pure.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "commands/serve/api_request.hpp"
#include "policy/text/tokenizer.hpp"
#include "runtime/model_turn.hpp"

namespace warpsmith::commands {

struct ServedText {
  std::string name;  // of the model, as clients write it
  std::shared_ptr<const policy::Tokenizer> tokenizer;
  policy::ChatFrame frame;
  std::vector<int32_t> stop_tokens;  // that end a turn
  ToolSyntax syntax = ToolSyntax::hermes;
  int64_t context = 0;  // tokens of a prompt and its answer
  int32_t vocab = 0;    // tokens of a prompt are below it
};

/// The tokens of each prompt, one for a chat. Refuses an empty prompt, tokens outside the
/// vocabulary, and prompts that leave no room for an answer (code context_length_exceeded).
ApiResult<std::vector<std::vector<int32_t>>> prompt_tokens(const ApiRequest& request,
                                                           const ServedText& text);

/// The system message with the tools' schemas after it.
std::string with_tools(const std::string& system, std::span<const ApiTool> tools,
                       ToolSyntax syntax);

}  // namespace warpsmith::commands
