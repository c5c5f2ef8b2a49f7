// SPDX-License-Identifier: Apache-2.0
#include "actors/brain/chat_completion.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "policy/text/tool_arguments.hpp"
#include "policy/text/tool_call_grammar.hpp"
#include "runtime/http/http_token.hpp"
#include "runtime/json_text.hpp"
#include "runtime/message_text.hpp"
#include "runtime/received_json.hpp"

namespace warpsmith::actors {
namespace {

using Json = nlohmann::ordered_json;
using policy::ChatMessage;

Json parsed(const std::string& text) {
  return received_json<Json>(text, policy::max_json_depth);
}

/// The JSON schema of a tool's arguments; null if the tool is not offered.
Json parameters_of(const RequestStyle& style, const std::string& tool) {
  const auto found = std::ranges::find(style.tools, tool, &ToolSchema::name);
  if (found == style.tools.end()) return {};
  return Json::parse(policy::tool_schema(*found))["function"]["parameters"];
}

Json call_json(const ParsedCall& call, const Json& arguments, const std::string& id) {
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
    for (size_t i = 0; i < turn->calls.size(); ++i) {
      const ParsedCall& call = turn->calls[i];
      const std::string id = fmt::format("call_{}_{}", turn_, i + 1);
      const Json parameters = parameters_of(style_, call.name);
      message["tool_calls"].push_back(
          call_json(call, policy::typed_arguments(call, turn->written[i], parameters), id));
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

std::string beginning_of(std::string_view body) {
  return body.empty() ? "nothing" : one_line(std::string{body.substr(0, shown)});
}

std::string type_name(std::string_view content_type) {
  const std::string bare = media_type(content_type);
  return bare.empty() ? "no content type" : bare;
}

tl::unexpected<Error> not_json(std::string_view content_type, std::string_view body) {
  return fail(ErrorCode::parse_failed,
              "expected JSON, got " + type_name(content_type) + ": " + beginning_of(body));
}

tl::unexpected<Error> not_an_answer(const std::string& what) {
  return fail(ErrorCode::parse_failed, "not a chat completion: " + what);
}

/// A member; null if there is none.
const Json& at(const Json& object, std::string_view key) {
  static const Json none;
  if (!object.is_object()) return none;
  const auto found = object.find(std::string{key});
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

/// Puts the pieces of tool calls together. An `index` or an `id` says which call a piece belongs
/// to. A new `id` begins a call, also under an index that another call has. A piece with neither
/// continues the last call, or begins one if it has a name and the last call is complete. A name
/// that is repeated whole counts once.
class CallAssembly {
 public:
  Result<void> add(const Json& piece) {
    TRY(Call * call, call_of(piece));
    const Json& function = at(piece, "function");
    const std::string name = text_in(at(function, "name"));
    if (name != call->name) call->name += name;
    const Json& arguments = at(function, "arguments");
    call->arguments += arguments.is_object() ? json_text(arguments) : text_in(arguments);
    return {};
  }

  std::vector<AnswerCall> take() {
    std::vector<AnswerCall> calls;
    calls.reserve(calls_.size());
    for (Call& call : calls_) calls.push_back({std::move(call.name), std::move(call.arguments)});
    return calls;
  }

 private:
  struct Call {
    std::optional<int64_t> index;
    std::string id, name, arguments;
  };

  Result<Call*> call_of(const Json& piece) {
    const auto index = count_in(at(piece, "index"));
    const std::string id = text_in(at(piece, "id"));
    const bool only_named = !index && id.empty() && !at(at(piece, "function"), "name").is_null();
    const auto is_same = [&](const Call& call) {
      const bool other_index = index && call.index && *index != *call.index;
      const bool other_id = !id.empty() && !call.id.empty() && id != call.id;
      const bool is_complete = only_named && received_json<Json>(call.arguments).is_object();
      return !other_index && !other_id && !is_complete;
    };
    const bool begins = only_named && !calls_.empty() && !is_same(calls_.back());
    const auto found = std::find_if(calls_.rbegin(), calls_.rend(), is_same);
    if (!begins && found != calls_.rend()) return &*found;
    if (calls_.size() >= most_calls) {
      return not_an_answer(fmt::format("more than {} tool calls", most_calls));
    }
    return &calls_.emplace_back(Call{index, id, {}, {}});
  }

  std::vector<Call> calls_;
};

/// An answer while its parts come in.
struct PartialAnswer {
  ChatAnswer answer;
  CallAssembly calls;
  bool has_choices = false;
};

/// Adds a message, or the next piece of one. `whole`: each of its calls is complete.
Result<void> add_message(const Json& message, bool whole, PartialAnswer& partial) {
  ChatAnswer& answer = partial.answer;
  answer.content += text_in(at(message, "content"));
  const Json& thought = at(message, "reasoning_content");
  answer.reasoning += text_in(thought.is_null() ? at(message, "reasoning") : thought);
  const Json& calls = at(message, "tool_calls");
  if (!calls.is_array()) return {};
  for (size_t i = 0; i < calls.size(); ++i) {
    Json piece = calls[i];
    const bool by_place = whole || (calls.size() > 1 && at(piece, "index").is_null());
    if (by_place && piece.is_object()) piece["index"] = i;
    TRY_VOID(partial.calls.add(piece));
  }
  return {};
}

constexpr std::string_view whole_part = "message";

/// Adds the first choice; the part of it is named `message` or `delta`.
Result<void> add_choice(const Json& json, std::string_view part, PartialAnswer& partial) {
  add_usage(at(json, "usage"), partial.answer);
  const Json& choices = at(json, "choices");
  if (!choices.is_array() || choices.empty()) return {};
  partial.has_choices = true;
  const std::string finish = text_in(at(choices[0], "finish_reason"));
  if (!finish.empty()) partial.answer.finish = finish;
  return add_message(at(choices[0], part), part == whole_part, partial);
}

ChatAnswer completed(PartialAnswer partial) {
  partial.answer.calls = partial.calls.take();
  return std::move(partial.answer);
}

std::string message_of(const Json& error) {
  if (error.is_string()) return error.get<std::string>();
  return text_in(at(error, "message"));
}

Result<ChatAnswer> read_whole(std::string_view content_type, std::string_view body) {
  const Json json = received_json<Json>(body);
  if (json.is_discarded()) return not_json(content_type, body);
  if (!at(json, "choices").is_array()) {
    return not_an_answer("it has no choices: " + beginning_of(body));
  }
  PartialAnswer partial;
  TRY_VOID(add_choice(json, whole_part, partial));
  if (partial.has_choices) return completed(std::move(partial));
  return fail(ErrorCode::peer_lost, "the answer has no choices: " + beginning_of(body));
}

/// Removes the first line from `text` and returns it without its line end.
std::string_view next_line(std::string_view& text) {
  const size_t end = std::min(text.find('\n'), text.size());
  std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

/// The data of a stream's events, up to "[DONE]".
struct StreamEvents {
  std::vector<std::string_view> data;
  bool done = false;
};

StreamEvents events_of(std::string_view body) {
  StreamEvents events;
  while (!body.empty() && !events.done) {
    std::string_view line = next_line(body);
    if (!line.starts_with("data:")) continue;  // comments and the names of events
    line.remove_prefix(5);
    if (line.starts_with(' ')) line.remove_prefix(1);
    events.done = line == "[DONE]";
    if (!events.done) events.data.push_back(line);
  }
  return events;
}

Result<ChatAnswer> read_stream(std::string_view body) {
  const StreamEvents events = events_of(body);
  PartialAnswer partial;
  for (const std::string_view data : events.data) {
    const Json json = received_json<Json>(data);
    // The last event may be cut short.
    if (json.is_discarded()) return fail(ErrorCode::peer_lost, "a stream event is not valid JSON");
    TRY_VOID(add_choice(json, "delta", partial));
  }
  if (!events.done && partial.answer.finish.empty()) {
    return fail(ErrorCode::peer_lost, "the stream was cut before the end of the answer");
  }
  if (partial.has_choices) return completed(std::move(partial));
  return fail(ErrorCode::peer_lost, "the stream has no choices");
}

bool is_stream(std::string_view content_type, std::string_view body) {
  return media_type(content_type) == "text/event-stream" || body.starts_with("data:");
}

/// The HTTP status that an error's code or type means: endpoints write numbers and words.
int status_of(const Json& error) {
  static const std::map<std::string, int, std::less<>> words{
      {"rate_limit", 429},   {"too_many_requests", 429}, {"overloaded", 503}, {"unavailable", 503},
      {"server_error", 500}, {"internal", 500},          {"timeout", 504}};
  for (const char* key : {"code", "status", "type"}) {
    const Json& value = at(error, key);
    const std::string text = value.is_number_integer() ? json_text(value) : text_in(value);
    const bool is_status = text.size() == 3 && text[0] >= '4' && text[0] <= '5' &&
                           text.find_first_not_of("0123456789") == std::string::npos;
    if (is_status) return std::stoi(text);
    for (const auto& [word, status] : words) {
      if (http_token(text).find(word) != std::string::npos) return status;
    }
  }
  return 0;
}

/// The error of an answer or an event, whole or of its first choice; null if there is none.
const Json& error_in(const Json& json) {
  const Json& error = at(json, "error");
  const Json& choices = at(json, "choices");
  const bool asks_choice = error.is_null() && choices.is_array() && !choices.empty();
  return asks_choice ? at(choices[0], "error") : error;
}

/// An argument as the syntax without escapes writes it.
std::string plain(const Json& value) {
  return value.is_string() ? value.get<std::string>() : json_text(value);
}

std::string call_text(const AnswerCall& call, ToolSyntax syntax) {
  auto read = policy::read_arguments(call.arguments);
  const bool readable = read.has_value();
  const Json arguments = std::move(read).value_or(Json::object());
  if (syntax == ToolSyntax::hermes) {
    return "<tool_call>\n{\"name\": " + json_text(Json(call.name)) +
           ", \"arguments\": " + (readable ? json_text(arguments) : call.arguments) +
           "}\n</tool_call>";
  }
  std::string text = "<tool_call>\n<function=" + call.name + ">\n";
  if (!readable) text += call.arguments + '\n';
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
  if (media_type(content_type) == "text/html") return not_json(content_type, body);
  return is_stream(content_type, body) ? read_stream(body) : read_whole(content_type, body);
}

std::optional<ReportedError> reported_error(std::string_view content_type, std::string_view body) {
  std::vector<std::string_view> parts{body};
  const bool stream = is_stream(content_type, body);
  if (stream) parts = events_of(body).data;
  for (const std::string_view part : parts) {
    const Json json = received_json<Json>(part);
    const Json& error = error_in(json);
    if (error.is_null() || error == false || error == "") continue;
    const std::string said = message_of(error);
    return ReportedError{status_of(error), stream,
                         one_line(said.empty() ? json_text(error) : said)};
  }
  return std::nullopt;
}

std::string error_text(std::string_view content_type, std::string_view body) {
  const Json json = received_json<Json>(body);
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
