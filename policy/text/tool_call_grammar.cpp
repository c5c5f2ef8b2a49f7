// SPDX-License-Identifier: Apache-2.0
#include "policy/text/tool_call_grammar.hpp"

#include <nlohmann/json.hpp>

#include "policy/text/json_depth.hpp"
#include "policy/text/text_cursor.hpp"

namespace warpsmith::policy {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view open_call = "<tool_call>";
constexpr std::string_view close_call = "</tool_call>";

bool is_name(std::string_view name) {
  const auto allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-';
  };
  return !name.empty() && name.size() <= 64 && std::ranges::all_of(name, allowed);
}

/// Reads the name after `<function=` or `<parameter=`, up to `>`.
Result<std::string> take_name(TextCursor& cursor, std::string_view what) {
  const TextCursor before = cursor;
  const auto name = cursor.take_until(">");
  if (!name) return tl::unexpected(name.error());
  if (!is_name(*name)) {
    return tl::unexpected(
        before.expected("a " + std::string(what) + " name (letters, digits, _ or -) and `>`"));
  }
  return std::string(*name);
}

/// Removes the newline after the opening tag and the one before the closing tag.
std::string without_frame(std::string_view value) {
  if (value.starts_with('\n')) value.remove_prefix(1);
  if (value.ends_with('\n')) value.remove_suffix(1);
  return std::string(value);
}

Result<void> take_parameter(TextCursor& cursor, ParsedCall& call) {
  auto key = take_name(cursor, "parameter");
  if (!key) return tl::unexpected(std::move(key.error()));
  const TextCursor before = cursor;
  const auto value = cursor.take_until("</parameter>");
  if (!value) return fail("parameter `" + *key + "`", value.error());
  if (!call.arguments.emplace(*key, without_frame(*value)).second) {
    return fail(ErrorCode::parse_failed, "line " + std::to_string(before.line()) + ": parameter `" +
                                             *key + "` is given twice");
  }
  return {};
}

Result<ParsedCall> xml_call(TextCursor& cursor) {
  cursor.skip_space();
  if (!cursor.take("<function=")) return tl::unexpected(cursor.expected("`<function=NAME>`"));
  auto name = take_name(cursor, "function");
  if (!name) return tl::unexpected(std::move(name.error()));
  ParsedCall call{*name, {}};
  for (cursor.skip_space(); cursor.take("<parameter="); cursor.skip_space()) {
    if (auto taken = take_parameter(cursor, call); !taken) {
      return tl::unexpected(std::move(taken.error()));
    }
  }
  if (!cursor.take("</function>")) {
    return tl::unexpected(cursor.expected("`<parameter=KEY>` or `</function>`"));
  }
  cursor.skip_space();
  if (!cursor.take(close_call)) return tl::unexpected(cursor.expected("`</tool_call>`"));
  return call;
}

std::string text_of(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

/// Parses JSON. Rejects deep nesting, over which recursive code would overflow the stack.
Result<Json> parse_json(std::string_view text) {
  JsonDepth depth{static_cast<int>(max_json_depth)};
  try {
    Json parsed = Json::parse(text, depth.watch());
    if (depth.exceeded()) return fail(ErrorCode::parse_failed, "JSON is nested too deeply");
    return parsed;
  } catch (const Json::parse_error& e) {
    return fail(ErrorCode::parse_failed,
                "invalid JSON at byte " + std::to_string(e.byte) + " of the call");
  } catch (const Json::out_of_range&) {
    return fail(ErrorCode::parse_failed, "a number in the JSON is out of range");
  }
}

Result<ParsedCall> call_of(const Json& json) {
  if (!json.is_object() || !json.contains("name") || !json["name"].is_string()) {
    return fail(ErrorCode::parse_failed,
                R"(expected an object {"name": "…", "arguments": {…}} with a string "name")");
  }
  ParsedCall call{json["name"].get<std::string>(), {}};
  if (!is_name(call.name)) {
    return fail(ErrorCode::parse_failed, "the name must be letters, digits, _ or -");
  }
  if (!json.contains("arguments")) return call;
  if (!json["arguments"].is_object()) {
    return fail(ErrorCode::parse_failed, std::string("\"arguments\" must be an object, got ") +
                                             json["arguments"].type_name());
  }
  for (const auto& [key, value] : json["arguments"].items()) call.arguments[key] = text_of(value);
  return call;
}

Result<ParsedCall> hermes_call(TextCursor& cursor) {
  const std::string place = "line " + std::to_string(cursor.line());
  const auto body = cursor.take_until(close_call);
  if (!body) return tl::unexpected(body.error());
  const auto json = parse_json(*body);
  if (!json) return fail(place, json.error());
  auto call = call_of(*json);
  if (!call) return fail(place, std::move(call.error()));
  return call;
}

/// Call syntax outside of a call is an error: probably a call without its frame.
Result<void> check_words(std::string_view words, size_t first_line) {
  for (const std::string_view tag : {"</tool_call>", "<function=", "</function>", "<parameter="}) {
    const size_t at = words.find(tag);
    if (at == std::string_view::npos) continue;
    const auto line =
        first_line + static_cast<size_t>(std::ranges::count(words.substr(0, at), '\n'));
    return fail(ErrorCode::parse_failed, "line " + std::to_string(line) + ": `" + std::string(tag) +
                                             "` stands outside of a call; expected `<tool_call>` " +
                                             "before it");
  }
  return {};
}

std::string_view without_thoughts(std::string_view text) {
  constexpr std::string_view end = "</think>";
  const size_t at = text.rfind(end);
  return at == std::string_view::npos ? text : text.substr(at + end.size());
}

Result<AssistantTurn> parse_calls(std::string_view text, ToolSyntax syntax) {
  TextCursor cursor{text};
  AssistantTurn turn;
  while (true) {
    const size_t line = cursor.line();
    const std::string_view words = cursor.rest().substr(0, cursor.rest().find(open_call));
    if (auto fine = check_words(words, line); !fine) return tl::unexpected(std::move(fine.error()));
    turn.words += words;
    cursor.take(words);
    if (!cursor.take(open_call)) return turn;
    if (turn.calls.size() == max_calls_per_turn) {
      return fail(ErrorCode::parse_failed,
                  "more than " + std::to_string(max_calls_per_turn) + " calls in one turn");
    }
    auto call = syntax == ToolSyntax::xml ? xml_call(cursor) : hermes_call(cursor);
    if (!call) return tl::unexpected(std::move(call.error()));
    turn.calls.push_back(std::move(*call));
  }
}

Json schema_of(const ToolSchema& tool) {
  Json properties = Json::object();
  Json required = Json::array();
  for (const ToolParameter& parameter : tool.parameters) {
    properties[parameter.name] = {{"type", parameter.type}, {"description", parameter.description}};
    if (parameter.required) required.push_back(parameter.name);
  }
  return {
      {"type", "function"},
      {"function",
       {{"name", tool.name},
        {"description", tool.description},
        {"parameters", {{"type", "object"}, {"properties", properties}, {"required", required}}}}}};
}

std::string_view call_example(ToolSyntax syntax) {
  if (syntax == ToolSyntax::xml) {
    return "<tool_call>\n<function=NAME>\n<parameter=KEY>\nvalue, as it is, over as many lines as "
           "it "
           "takes\n</parameter>\n</function>\n</tool_call>";
  }
  return "<tool_call>\n{\"name\": \"NAME\", \"arguments\": {\"KEY\": \"value\"}}\n</tool_call>";
}

}  // namespace

Result<AssistantTurn> parse_turn(std::string_view text, ToolSyntax syntax) {
  if (text.size() > max_turn_bytes) {
    return fail(ErrorCode::parse_failed, "the turn has " + std::to_string(text.size()) +
                                             " bytes, at most " + std::to_string(max_turn_bytes));
  }
  return parse_calls(without_thoughts(text), syntax);
}

std::string tools_prompt(std::span<const ToolSchema> tools, ToolSyntax syntax) {
  std::string text = "# Tools\n\nEach tool is described by a JSON schema:\n<tools>\n";
  for (const ToolSchema& tool : tools) text += schema_of(tool).dump() + '\n';
  text += "</tools>\n\nTo call a tool, end your turn with one or more calls written as:\n";
  text += call_example(syntax);
  return text + "\nResults come back between <tool_response> and </tool_response>.";
}

}  // namespace warpsmith::policy
