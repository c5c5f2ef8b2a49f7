// SPDX-License-Identifier: Apache-2.0
#include "commands/serve/served_text.hpp"

#include <algorithm>
#include <utility>

#include "commands/serve/tool_text.hpp"

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
    return refuse_parameter(param, "expected tokens below " + std::to_string(text.vocab) +
                                       ", got " + std::to_string(highest));
  }
  if (std::ssize(tokens) < text.context) return {};
  return refuse_parameter(param,
                          "expected fewer than the " + std::to_string(text.context) +
                              " tokens of this model's context, got " +
                              std::to_string(tokens.size()),
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
    if (auto fine = check_tokens(tokens, chat ? "messages" : "prompt", text); !fine) {
      return tl::unexpected(std::move(fine.error()));
    }
  }
  return all;
}

}  // namespace warpsmith::commands
