// SPDX-License-Identifier: Apache-2.0
#include "commands/serve/served_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "policy/text/tool_call_grammar.hpp"
#include "runtime/json_depth.hpp"

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

using Json = nlohmann::ordered_json;

std::string xml_call_text(const std::string& name, const Json& arguments) {
  std::string text = "<tool_call>\n<function=" + name + ">\n";
  for (const auto& [key, value] : arguments.items()) {
    const std::string shown = value.is_string() ? value.get<std::string>() : json_text(value);
    text += "<parameter=" + key + ">\n" + shown + "\n</parameter>\n";
  }
  return text + "</function>\n</tool_call>";
}

/// The type of a parameter in the tool's schema; empty if it names none.
std::string type_in(std::span<const ApiTool> tools, const ParsedCall& call,
                    const std::string& parameter) {
  const auto tool = std::ranges::find(tools, call.name, &ApiTool::name);
  if (tool == tools.end()) return {};
  const auto type = tool->types.find(parameter);
  return type == tool->types.end() ? std::string{} : type->second;
}

Json value_of(const std::string& text, const std::string& type) {
  if (type == "string") return text;
  JsonDepth depth;
  Json value = Json::parse(text, depth.watch(), /*allow_exceptions=*/false);
  return value.is_discarded() || depth.exceeded() ? Json(text) : value;
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

std::string call_text(const std::string& name, const Json& arguments, ToolSyntax syntax) {
  if (syntax == ToolSyntax::xml) return xml_call_text(name, arguments);
  return "<tool_call>\n" + json_text(Json{{"name", name}, {"arguments", arguments}}) +
         "\n</tool_call>";
}

std::string arguments_json(const ParsedCall& call, std::span<const ApiTool> tools) {
  Json arguments = Json::object();
  for (const auto& [name, text] : call.arguments) {
    arguments[name] = value_of(text, type_in(tools, call, name));
  }
  return json_text(arguments);
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
