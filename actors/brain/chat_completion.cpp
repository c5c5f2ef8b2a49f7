// SPDX-License-Identifier: Apache-2.0
#include "actors/brain/chat_completion.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "policy/text/tool_call_grammar.hpp"
#include "runtime/json_depth.hpp"
#include "runtime/json_text.hpp"
#include "runtime/message_text.hpp"

namespace warpsmith::actors {
namespace {

using Json = nlohmann::ordered_json;
using policy::ChatMessage;

Json parsed(const std::string& text) {
  JsonDepth depth{static_cast<int>(policy::max_json_depth)};
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

/// A value in the type of its schema; a string if it does not fit.
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

/// The schema as in prompts, with the type of an array's elements, which strict endpoints also
/// require.
Json tool_json(const ToolSchema& tool) {
  Json schema = Json::parse(policy::tool_schema(tool));
  for (auto& [name, property] : schema["function"]["parameters"]["properties"].items()) {
    if (property["type"] == "array") property["items"] = {{"type", "object"}};
  }
  return schema;
}

/// Removes the description of tools, which a native request has in its own field.
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
      const std::string id = fmt::format("call_{}_{}", turn_, results.size() + 1);
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

constexpr size_t shown = 80;       // characters of a body that is not an answer
constexpr size_t most_calls = 64;  // of one answer; a turn may have fewer

Json json_in(std::string_view text) {
  JsonDepth depth;
  Json value = Json::parse(text, depth.watch(), /*allow_exceptions=*/false);
  return depth.exceeded() ? Json(Json::value_t::discarded) : value;
}

std::string beginning_of(std::string_view body) {
  return body.empty() ? "nothing" : one_line(std::string{body.substr(0, shown)});
}

std::string type_name(std::string_view content_type) {
  const std::string_view bare = content_type.substr(0, content_type.find(';'));
  return bare.empty() ? "no content type" : std::string{bare};
}

tl::unexpected<Error> not_json(std::string_view content_type, std::string_view body) {
  return fail(ErrorCode::parse_failed,
              "expected JSON, got " + type_name(content_type) + ": " + beginning_of(body));
}

tl::unexpected<Error> not_an_answer(const std::string& what) {
  return fail(ErrorCode::parse_failed, "not a chat completion: " + what);
}

/// A member; null if there is none.
const Json& at(const Json& object, const char* key) {
  static const Json none;
  if (!object.is_object()) return none;
  const auto found = object.find(key);
  return found == object.end() ? none : *found;
}

/// A text; joined if it comes as a list of parts.
std::string text_in(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  std::string text;
  if (!value.is_array()) return text;
  for (const Json& part : value) text += text_in(at(part, "text"));
  return text;
}

std::optional<int64_t> count_in(const Json& value) {
  constexpr double most = 1e12;  // more than any endpoint counts, and sums of such counts fit
  if (!value.is_number_integer()) return std::nullopt;
  const auto wide = value.get<double>();
  if (wide < 0 || wide > most) return std::nullopt;
  return value.get<int64_t>();
}

void add_usage(const Json& usage, ChatAnswer& answer) {
  if (const auto in = count_in(at(usage, "prompt_tokens"))) answer.tokens_in = in;
  if (const auto out = count_in(at(usage, "completion_tokens"))) answer.tokens_out = out;
}

/// Adds a call, or a further piece of one.
Result<void> add_call(const Json& call, size_t position, ChatAnswer& answer) {
  const auto given = count_in(at(call, "index"));
  const size_t index = given ? static_cast<size_t>(*given) : position;
  if (index >= most_calls) {
    return not_an_answer(fmt::format("more than {} tool calls", most_calls));
  }
  if (answer.calls.size() <= index) answer.calls.resize(index + 1);
  const Json& function = at(call, "function");
  const Json& arguments = at(function, "arguments");
  answer.calls[index].name += text_in(at(function, "name"));
  answer.calls[index].arguments +=
      arguments.is_object() ? json_text(arguments) : text_in(arguments);
  return {};
}

/// Adds a message, or the next piece of one.
Result<void> add_message(const Json& message, ChatAnswer& answer) {
  answer.content += text_in(at(message, "content"));
  const Json& thought = at(message, "reasoning_content");
  answer.reasoning += text_in(thought.is_null() ? at(message, "reasoning") : thought);
  const Json& calls = at(message, "tool_calls");
  if (!calls.is_array()) return {};
  for (size_t i = 0; i < calls.size(); ++i) {
    TRY_VOID(add_call(calls[i], i, answer));
  }
  return {};
}

/// Adds the first choice; the part of it is named `message` or `delta`.
Result<void> add_choice(const Json& json, const char* part, ChatAnswer& answer) {
  add_usage(at(json, "usage"), answer);
  const Json& choices = at(json, "choices");
  if (!choices.is_array() || choices.empty()) return {};
  const std::string finish = text_in(at(choices[0], "finish_reason"));
  if (!finish.empty()) answer.finish = finish;
  return add_message(at(choices[0], part), answer);
}

std::string message_of(const Json& error) {
  if (error.is_string()) return error.get<std::string>();
  return text_in(at(error, "message"));
}

Result<ChatAnswer> read_whole(std::string_view content_type, std::string_view body) {
  const Json json = json_in(body);
  if (json.is_discarded()) return not_json(content_type, body);
  ChatAnswer answer;
  if (!at(json, "choices").is_array() || at(json, "choices").empty()) {
    const std::string said = message_of(at(json, "error"));
    return not_an_answer(said.empty() ? "it has no choices: " + beginning_of(body)
                                      : one_line(said));
  }
  TRY_VOID(add_choice(json, "message", answer));
  return answer;
}

/// Removes the first line from `text` and returns it without its line end.
std::string_view next_line(std::string_view& text) {
  const size_t end = std::min(text.find('\n'), text.size());
  std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

/// Reads an event of the stream.
Result<void> add_event(std::string_view data, ChatAnswer& answer) {
  const Json json = json_in(data);
  // The last event may be cut short.
  if (json.is_discarded()) return fail(ErrorCode::peer_lost, "a stream event is not valid JSON");
  if (const Json& error = at(json, "error"); !error.is_null()) {
    return fail(ErrorCode::infrastructure, "the stream reports: " + one_line(message_of(error)));
  }
  return add_choice(json, "delta", answer);
}

Result<ChatAnswer> read_stream(std::string_view body) {
  ChatAnswer answer;
  bool done = false;
  while (!body.empty() && !done) {
    std::string_view line = next_line(body);
    if (!line.starts_with("data:")) continue;  // comments and the names of events
    line.remove_prefix(5);
    if (line.starts_with(' ')) line.remove_prefix(1);
    done = line == "[DONE]";
    if (done) break;
    TRY_VOID(add_event(line, answer));
  }
  if (done || !answer.finish.empty()) return answer;
  return fail(ErrorCode::peer_lost, "the stream was cut before the end of the answer");
}

/// An argument as the syntax without escapes writes it.
std::string plain(const Json& value) {
  return value.is_string() ? value.get<std::string>() : json_text(value);
}

std::string call_text(const AnswerCall& call, ToolSyntax syntax) {
  Json arguments = call.arguments.empty() ? Json::object() : json_in(call.arguments);
  const bool readable = arguments.is_object();
  if (syntax == ToolSyntax::hermes) {
    return "<tool_call>\n{\"name\": " + json_text(Json(call.name)) +
           ", \"arguments\": " + (readable ? json_text(arguments) : call.arguments) +
           "}\n</tool_call>";
  }
  std::string text = "<tool_call>\n<function=" + call.name + ">\n";
  if (!readable) {
    text += call.arguments + '\n';
    arguments = Json::object();
  }
  for (const auto& [name, value] : arguments.items()) {
    if (value.is_null()) continue;
    text += "<parameter=" + name + ">\n" + plain(value) + "\n</parameter>\n";
  }
  return text + "</function>\n</tool_call>";
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

Result<ChatAnswer> parse_answer(std::string_view content_type, std::string_view body) {
  if (content_type.starts_with("text/html")) return not_json(content_type, body);
  const bool stream = content_type.starts_with("text/event-stream") || body.starts_with("data:");
  return stream ? read_stream(body) : read_whole(content_type, body);
}

std::string error_text(std::string_view content_type, std::string_view body) {
  const Json json = json_in(body);
  if (json.is_discarded()) return type_name(content_type) + ": " + beginning_of(body);
  std::string said = message_of(at(json, "error"));
  if (said.empty()) said = message_of(json);
  return said.empty() ? beginning_of(body) : one_line(said.substr(0, 500));
}

std::string turn_text(const ChatAnswer& answer, ToolSyntax syntax) {
  std::string text = answer.content;
  for (const AnswerCall& call : answer.calls) {
    if (!text.empty() && !text.ends_with('\n')) text += '\n';
    text += call_text(call, syntax);
  }
  return text;
}

std::string record_of(const ChatAnswer& answer) {
  Json message{{"role", "assistant"}, {"content", answer.content}};
  if (!answer.reasoning.empty()) message["reasoning"] = answer.reasoning;
  for (const AnswerCall& call : answer.calls) {
    message["tool_calls"].push_back({{"name", call.name}, {"arguments", call.arguments}});
  }
  return json_text(Json{{"message", message},
                        {"finish_reason", answer.finish},
                        {"tokens_in", nullable<Json>(answer.tokens_in)},
                        {"tokens_out", nullable<Json>(answer.tokens_out)}});
}

}  // namespace warpsmith::actors
