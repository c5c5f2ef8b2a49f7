// SPDX-License-Identifier: Apache-2.0
#include "commands/serve/served_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "policy/text/tool_call_grammar.hpp"

namespace warpsmith::commands {
namespace {

/// The conversation with the tools in its system message.
std::vector<policy::ChatMessage> shown_messages(const ApiRequest& request, ToolSyntax syntax) {
  std::vector<policy::ChatMessage> messages = request.messages;
  if (request.tools.empty()) return messages;
  if (messages.front().role != "system") messages.insert(messages.begin(), {"system", "", false});
  messages.front().content = with_tools(messages.front().content, request.tools, syntax);
  return messages;
}

/// Piece by piece, as trajectories and demonstrations are encoded.
std::vector<int32_t> chat_tokens(const ApiRequest& request, const ServedText& text) {
  const auto messages = shown_messages(request, text.syntax);
  auto pieces = policy::chat_pieces(messages, text.frame);
  if (messages.back().role == "assistant") {
    pieces.push_back({policy::MarkedText(text.frame.after), false});
  }
  pieces.back().text.add(text.frame.start);
  std::vector<int32_t> tokens;
  for (const policy::ChatPiece& piece : pieces) {
    const auto more = text.tokenizer->encode(piece.text);
    tokens.insert(tokens.end(), more.begin(), more.end());
  }
  return tokens;
}

std::vector<int32_t> tokens_of(const ApiPrompt& prompt, const ServedText& text) {
  if (const auto* tokens = std::get_if<std::vector<int32_t>>(&prompt)) return *tokens;
  return text.tokenizer->encode(std::get<std::string>(prompt), policy::SpecialTokens::add);
}

ApiResult<void> check_tokens(const std::vector<int32_t>& tokens, const std::string& param,
                             const ServedText& text) {
  if (tokens.empty()) return refuse_parameter(param, "expected at least one token, got none");
  const auto highest = std::ranges::max(tokens);
  if (highest >= text.vocab) {
    return refuse_parameter(param,
                            fmt::format("expected tokens below {}, got {}", text.vocab, highest));
  }
  if (std::ssize(tokens) < text.context) return {};
  return refuse_parameter(
      param,
      fmt::format("expected fewer than the {} tokens of this model's context, got {}", text.context,
                  tokens.size()),
      "context_length_exceeded");
}

}  // namespace

ApiResult<std::vector<std::vector<int32_t>>> prompt_tokens(const ApiRequest& request,
                                                           const ServedText& text) {
  std::vector<std::vector<int32_t>> all;
  const bool chat = request.endpoint == Endpoint::chat;
  if (chat) all.push_back(chat_tokens(request, text));
  for (const ApiPrompt& prompt : request.prompts) all.push_back(tokens_of(prompt, text));
  for (const auto& tokens : all) {
    TRY_VOID(check_tokens(tokens, chat ? "messages" : "prompt", text));
  }
  return all;
}

std::string with_tools(const std::string& system, std::span<const ApiTool> tools,
                       ToolSyntax syntax) {
  if (tools.empty()) return system;
  std::vector<std::string> schemas;
  schemas.reserve(tools.size());
  for (const ApiTool& tool : tools) schemas.push_back(tool.schema);
  const std::string shown = policy::tools_prompt(schemas, syntax);
  return system.empty() ? shown : system + "\n\n" + shown;
}

}  // namespace warpsmith::commands
