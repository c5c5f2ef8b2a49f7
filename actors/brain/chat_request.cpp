// SPDX-License-Identifier: Apache-2.0
#include "actors/brain/chat_request.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "policy/text/json_depth.hpp"
#include "policy/text/tool_call_grammar.hpp"
#include "runtime/json_text.hpp"

namespace warpsmith::actors {
namespace {

using Json = nlohmann::ordered_json;
using policy::ChatMessage;

Json parsed(const std::string& text) {
  policy::JsonDepth depth{static_cast<int>(policy::max_json_depth)};
  Json value = Json::parse(text, depth.watch(), /*allow_exceptions=*/false);
  return depth.exceeded() ? Json(Json::value_t::discarded) : value;
}

const ToolParameter* parameter_of(const RequestStyle& style, const std::string& tool,
                                  const std::string& name) {
  const auto found = std::ranges::find(style.tools, tool, &ToolSchema::name);
  if (found == style.tools.end()) return nullptr;
  const auto parameter = std::ranges::find(found->parameters, name, &ToolParameter::name);
  return parameter == found->parameters.end() ? nullptr : &*parameter;
}

/// A value as its schema says; as a string if it does not fit.
Json argument(const RequestStyle& style, const ParsedCall& call, const std::string& name,
              const std::string& value) {
  const ToolParameter* parameter = parameter_of(style, call.name, name);
  if (parameter == nullptr || parameter->type == "string") return value;
  Json typed = parsed(value);
  return typed.is_discarded() ? Json(value) : typed;
}

Json call_json(const RequestStyle& style, const ParsedCall& call, const std::string& id) {
  Json arguments = Json::object();
  for (const auto& [name, value] : call.arguments) {
    arguments[name] = argument(style, call, name, value);
  }
  return {{"id", id},
          {"type", "function"},
          {"function", {{"name", call.name}, {"arguments", json_text(arguments)}}}};
}

/// The schema as prompts have it; strict endpoints want the type of an array's elements besides.
Json tool_json(const ToolSchema& tool) {
  Json schema = Json::parse(policy::tool_schema(tool));
  for (auto& [name, property] : schema["function"]["parameters"]["properties"].items()) {
    if (property["type"] == "array") property["items"] = {{"type", "object"}};
  }
  return schema;
}

/// Removes the description of tools, which a native request has in a field of its own.
std::string without_tools(std::string system, const RequestStyle& style) {
  const std::string described = policy::tools_prompt(style.tools, style.syntax);
  if (const size_t at = system.find(described); at != std::string::npos) {
    system.erase(at, described.size());
  }
  return system;
}

/// Writes messages one after the other.
class Writer {
 public:
  Writer(std::span<const ChatMessage> messages, const RequestStyle& style)
      : messages_(messages), style_(style) {
    native_ = style.dialect == BrainTools::native && !style.tools.empty();
  }

  std::vector<std::string> write() {
    while (next_ < messages_.size()) {
      const ChatMessage& message = messages_[next_++];
      if (message.role == "assistant") {
        write_turn(message.content);
      } else if (message.role == "tool") {
        --next_;
        write_results();
      } else {
        const bool trim = native_ && message.role == "system";
        put(message.role, trim ? without_tools(message.content, style_) : message.content);
      }
    }
    return std::move(out_);
  }

 private:
  void put(const Json& message) { out_.push_back(json_text(message)); }
  void put(const std::string& role, const std::string& content) {
    put(Json{{"role", role}, {"content", content}});
  }

  size_t results_ahead() const {
    size_t end = next_;
    while (end < messages_.size() && messages_[end].role == "tool") ++end;
    return end - next_;
  }

  void write_turn(const std::string& text) {
    ++turn_;
    const auto turn = policy::parse_turn(text, style_.syntax);
    const bool pairs = turn && !turn->calls.empty() && turn->calls.size() == results_ahead();
    if (!native_ || !pairs) return put("assistant", text);
    Json message{{"role", "assistant"}, {"content", nullptr}, {"tool_calls", Json::array()}};
    if (!turn->words.empty()) message["content"] = turn->words;
    std::vector<Json> results;
    for (const ParsedCall& call : turn->calls) {
      const std::string id =
          "call_" + std::to_string(turn_) + '_' + std::to_string(results.size() + 1);
      message["tool_calls"].push_back(call_json(style_, call, id));
      results.push_back(
          Json{{"role", "tool"}, {"tool_call_id", id}, {"content", messages_[next_++].content}});
    }
    put(message);
    for (const Json& result : results) put(result);
  }

  /// All results of a turn as one message of the user.
  void write_results() {
    std::string text;
    for (size_t left = results_ahead(); left > 0; --left) {
      text += text.empty() ? "" : "\n";
      text += "<tool_response>\n" + messages_[next_++].content + "\n</tool_response>";
    }
    put("user", text);
  }

  std::span<const ChatMessage> messages_;
  const RequestStyle& style_;
  std::vector<std::string> out_;
  bool native_ = false;
  size_t next_ = 0;
  int turn_ = 0;
};

Json rest_of(const RequestStyle& style, int64_t most_tokens) {
  Json rest{{"model", style.model},
            {"temperature", style.temperature},
            {"max_tokens", most_tokens},
            {"stream", style.stream}};
  if (style.stream) rest["stream_options"] = {{"include_usage", true}};
  if (style.dialect == BrainTools::native && !style.tools.empty()) {
    for (const ToolSchema& tool : style.tools) rest["tools"].push_back(tool_json(tool));
  }
  if (!style.extra.empty()) rest.merge_patch(parsed(style.extra));
  return rest;
}

}  // namespace

Result<void> check_extra(const std::string& extra) {
  if (extra.empty()) return {};
  const Json object = parsed(extra);
  if (!object.is_object()) {
    return fail(ErrorCode::invalid_config,
                "brain.extra: expected a JSON object such as {\"top_p\": 0.9}");
  }
  for (const char* own : {"messages", "model", "stream", "tools"}) {
    if (!object.contains(own)) continue;
    return fail(ErrorCode::invalid_config, std::string{"brain.extra: the field \""} + own +
                                               "\" is set by other keys of [brain] and [agent]");
  }
  return {};
}

std::string ChatRequest::body() const {
  std::string text = rest;
  text.back() = ',';  // in place of the brace
  text += "\"messages\":[";
  for (size_t i = 0; i < messages.size(); ++i) text += (i == 0 ? "" : ",") + messages[i];
  return text + "]}";
}

ChatRequest chat_request(std::span<const ChatMessage> messages, const RequestStyle& style,
                         int64_t most_tokens) {
  return {Writer{messages, style}.write(), json_text(rest_of(style, most_tokens))};
}

}  // namespace warpsmith::actors
