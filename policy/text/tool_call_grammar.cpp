// SPDX-License-Identifier: Apache-2.0
#include "policy/text/tool_call_grammar.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "policy/text/tool_arguments.hpp"
#include "runtime/json_depth.hpp"
#include "runtime/json_text.hpp"
#include "runtime/received_json.hpp"
#include "runtime/result.hpp"

namespace warpsmith::policy {
namespace {

/// Reads a text, which must outlive it, from front to back; error messages name the line.
class TextCursor {
 public:
  explicit TextCursor(std::string_view text) : text_(text) {}

  bool at_end() const { return at_ == text_.size(); }
  std::string_view rest() const { return text_.substr(at_); }

  /// Skips `token` and returns true if the rest begins with it.
  bool take(std::string_view token) {
    if (!rest().starts_with(token)) return false;
    at_ += token.size();
    return true;
  }

  void skip_space() { at_ = std::min(text_.find_first_not_of(" \t\r\n", at_), text_.size()); }

  /// Returns the text up to `end` and skips both; `parse_failed` if `end` does not follow.
  Result<std::string_view> take_until(std::string_view end) {
    const size_t found = text_.find(end, at_);
    if (found == std::string_view::npos) {
      return fail(ErrorCode::parse_failed,
                  fmt::format("line {}: expected `{}`, got the end of the turn", line(), end));
    }
    const std::string_view taken = text_.substr(at_, found - at_);
    at_ = found + end.size();
    return taken;
  }

  /// "line 3: expected X, got `abc…`"
  Error expected(std::string_view what) const {
    return {ErrorCode::parse_failed,
            fmt::format("line {}: expected {}, got {}", line(), what, here())};
  }

  /// Counted from 1.
  size_t line() const {
    return 1 + static_cast<size_t>(std::ranges::count(text_.substr(0, at_), '\n'));
  }

 private:
  /// The beginning of the rest of this line, quoted and cut between characters.
  std::string here() const {
    if (at_end()) return "the end of the turn";
    std::string_view piece = rest().substr(0, std::min<size_t>(rest().find('\n'), 24));
    while (!piece.empty() && piece.size() < rest().size() && is_inside(rest()[piece.size()])) {
      piece.remove_suffix(1);
    }
    return piece.empty() ? "an empty line" : "`" + std::string(piece) + "`";
  }
  static bool is_inside(char c) { return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U; }

  std::string_view text_;
  size_t at_ = 0;
};

using Json = nlohmann::ordered_json;

constexpr std::string_view open_call = "<tool_call>";
constexpr std::string_view close_call = "</tool_call>";
constexpr std::string_view open_thought = "<think>";
constexpr std::string_view close_thought = "</think>";

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
  TRY(const auto name, cursor.take_until(">"));
  if (!is_name(name)) {
    return tl::unexpected(
        before.expected("a " + std::string(what) + " name (letters, digits, _ or -) and `>`"));
  }
  return std::string(name);
}

/// Removes the newline after the opening tag and the one before the closing tag.
std::string without_frame(std::string_view value) {
  if (value.starts_with('\n')) value.remove_prefix(1);
  if (value.ends_with('\n')) value.remove_suffix(1);
  return std::string(value);
}

/// True if this text may follow a value's closing tag.
bool follows_value(std::string_view text) {
  TextCursor cursor{text};
  cursor.skip_space();
  if (cursor.take("<parameter=")) return true;
  if (!cursor.take("</function>")) return false;
  cursor.skip_space();
  return cursor.take(close_call);
}

/// Reads a value and its closing tag. A closing tag followed by anything unexpected belongs to the
/// value.
Result<std::string_view> take_value(TextCursor& cursor) {
  constexpr std::string_view end = "</parameter>";
  const std::string_view rest = cursor.rest();
  for (size_t at = rest.find(end); at != std::string_view::npos; at = rest.find(end, at + 1)) {
    if (!follows_value(rest.substr(at + end.size()))) continue;
    cursor.take(rest.substr(0, at + end.size()));
    return rest.substr(0, at);
  }
  return cursor.take_until(end);
}

Result<void> take_parameter(TextCursor& cursor, ParsedCall& call) {
  TRY(auto key, take_name(cursor, "parameter"));
  const TextCursor before = cursor;
  const auto value = take_value(cursor);
  if (!value) return fail("parameter `" + key + "`", value.error());
  if (!call.arguments.emplace(key, without_frame(*value)).second) {
    return fail(ErrorCode::parse_failed,
                fmt::format("line {}: parameter `{}` is given twice", before.line(), key));
  }
  return {};
}

/// A call, and its arguments as JSON text if the syntax writes JSON.
struct WrittenCall {
  ParsedCall call;
  std::string arguments;
};

Result<WrittenCall> xml_call(TextCursor& cursor) {
  cursor.skip_space();
  if (!cursor.take("<function=")) return tl::unexpected(cursor.expected("`<function=NAME>`"));
  TRY(auto name, take_name(cursor, "function"));
  ParsedCall call{name, {}};
  for (cursor.skip_space(); cursor.take("<parameter="); cursor.skip_space()) {
    TRY_VOID(take_parameter(cursor, call));
  }
  if (!cursor.take("</function>")) {
    return tl::unexpected(cursor.expected("`<parameter=KEY>` or `</function>`"));
  }
  cursor.skip_space();
  if (!cursor.take(close_call)) return tl::unexpected(cursor.expected("`</tool_call>`"));
  return WrittenCall{std::move(call), {}};
}

/// The value's JSON text; of a string, its content. Whole numbers have no fraction: 1.0 is 1.
std::string text_of(const Json& value) {
  constexpr double exact = 9'007'199'254'740'992.0;  // 2^53
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number_float()) {
    const auto number = value.get<double>();
    if (std::abs(number) < exact && std::trunc(number) == number) {
      return std::to_string(static_cast<int64_t>(number));
    }
  }
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

/// Parses JSON. Rejects deep nesting, over which recursive code would overflow the stack.
Result<Json> parse_json(std::string_view text) {
  JsonDepth depth{max_json_depth};
  try {
    Json parsed = Json::parse(without_lone_surrogates(text), depth.watch());
    if (depth.exceeded()) return fail(ErrorCode::parse_failed, "JSON is nested too deeply");
    return parsed;
  } catch (const Json::parse_error& e) {
    return fail(ErrorCode::parse_failed,
                fmt::format("invalid JSON at byte {} of the call", e.byte));
  } catch (const Json::out_of_range&) {
    return fail(ErrorCode::parse_failed, "a number in the JSON is out of range");
  }
}

/// The object with the arguments: `arguments` or, as some models write it, `parameters`. Empty if
/// there is none.
Result<Json> arguments_of(const Json& call) {
  const auto is_given = [&](const char* key) { return call.contains(key) && !call[key].is_null(); };
  const char* key = is_given("arguments") ? "arguments" : "parameters";
  if (!is_given(key)) return Json::object();
  if (auto found = read_arguments(call[key])) return std::move(*found);
  return fail(ErrorCode::parse_failed,
              '"' + std::string(key) + "\" must be an object, got " + call[key].type_name());
}

Result<WrittenCall> call_of(const Json& json) {
  if (!json.is_object() || !json.contains("name") || !json["name"].is_string()) {
    return fail(ErrorCode::parse_failed,
                R"(expected an object {"name": "…", "arguments": {…}} with a string "name")");
  }
  ParsedCall call{json["name"].get<std::string>(), {}};
  if (!is_name(call.name)) {
    return fail(ErrorCode::parse_failed, "the name must be letters, digits, _ or -");
  }
  TRY(const auto arguments, arguments_of(json));
  for (const auto& [key, value] : arguments.items()) {
    if (!value.is_null()) call.arguments[key] = text_of(value);
  }
  return WrittenCall{std::move(call), json_text(arguments)};
}

/// The JSON object that a text begins with; empty if there is none, or if it does not end.
std::string_view leading_object(std::string_view text) {
  size_t depth = 0;
  bool in_string = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '"') in_string = !in_string;
    if (in_string && c == '\\') ++i;
    if (in_string) continue;
    if (c == '{') ++depth;
    if (c == '}') --depth;
    if (depth == 0) return text.substr(0, c == '}' ? i + 1 : 0);
  }
  return {};
}

Result<WrittenCall> hermes_call(TextCursor& cursor) {
  const std::string place = fmt::format("line {}", cursor.line());
  cursor.skip_space();
  // Tags in the object's strings do not end the call.
  std::string_view body = leading_object(cursor.rest());
  const bool whole = cursor.take(body) && !body.empty();
  if (!whole) {
    TRY(const auto rest, cursor.take_until(close_call));
    body = rest;
  }
  const auto json = parse_json(body);
  if (!json) return fail(place, json.error());
  auto call = call_of(*json);
  if (!call) return fail(place, std::move(call.error()));
  cursor.skip_space();
  if (whole && !cursor.take(close_call)) return tl::unexpected(cursor.expected("`</tool_call>`"));
  return call;
}

/// Call syntax outside of a call is an error: probably a call without its frame.
Result<void> check_words(std::string_view words, const TextCursor& cursor) {
  for (const std::string_view tag : {"</tool_call>", "<function=", "</function>", "<parameter="}) {
    const size_t at = words.find(tag);
    if (at == std::string_view::npos) continue;
    const auto line =
        cursor.line() + static_cast<size_t>(std::ranges::count(words.substr(0, at), '\n'));
    return fail(
        ErrorCode::parse_failed,
        fmt::format("line {}: `{}` stands outside of a call; expected `<tool_call>` before it",
                    line, tag));
  }
  return {};
}

/// The text up to the next call or tag of thoughts, or to the end.
std::string_view words_before_tag(std::string_view text) {
  size_t at = text.find('<');
  for (; at != std::string_view::npos; at = text.find('<', at + 1)) {
    const std::string_view rest = text.substr(at);
    if (rest.starts_with(open_call) || rest.starts_with(open_thought)) break;
    if (rest.starts_with(close_thought)) break;
  }
  return text.substr(0, at);
}

/// Reads a turn from the cursor to the end. After an error the cursor is where a thought opened by
/// the prompt may have continued.
class TurnReader {
 public:
  TurnReader(TextCursor& cursor, ToolSyntax syntax) : cursor_(cursor), syntax_(syntax) {}

  Result<AssistantTurn> read() {
    while (!cursor_.at_end()) {
      TRY_VOID(take_part());
    }
    return std::move(turn_);
  }

 private:
  Result<void> take_part() {
    if (cursor_.take(close_thought)) {
      turn_ = {};  // the prompt opened the thought, which was all of the turn so far
      return {};
    }
    if (cursor_.take(open_thought)) {
      skip_thought();
      return {};
    }
    return cursor_.take(open_call) ? take_call() : take_words();
  }

  /// A thought that is not closed is read like other text.
  void skip_thought() {
    const TextCursor inside = cursor_;
    if (thoughts_close_) thoughts_close_ = cursor_.take_until(close_thought).has_value();
    if (!thoughts_close_) cursor_ = inside;
  }

  Result<void> take_words() {
    const std::string_view words = words_before_tag(cursor_.rest());
    TRY_VOID(check_words(words, cursor_));
    cursor_.take(words);
    turn_.words += words;
    return {};
  }

  Result<void> take_call() {
    if (turn_.calls.size() == max_calls_per_turn) {
      return fail(ErrorCode::parse_failed,
                  fmt::format("more than {} calls in one turn", max_calls_per_turn));
    }
    const TextCursor inside = cursor_;
    auto call = syntax_ == ToolSyntax::xml ? xml_call(cursor_) : hermes_call(cursor_);
    if (!call) {
      cursor_ = inside;
      return tl::unexpected(std::move(call.error()));
    }
    turn_.calls.push_back(std::move(call->call));
    turn_.written.push_back(std::move(call->arguments));
    return {};
  }

  TextCursor& cursor_;
  ToolSyntax syntax_;
  AssistantTurn turn_;
  bool thoughts_close_ = true;  // false: no closing tag follows
};

std::string_view call_example(ToolSyntax syntax) {
  if (syntax == ToolSyntax::xml) {
    return "<tool_call>\n<function=NAME>\n<parameter=KEY>\nvalue, as it is, over as many lines as "
           "it "
           "takes\n</parameter>\n</function>\n</tool_call>";
  }
  return "<tool_call>\n{\"name\": \"NAME\", \"arguments\": {\"KEY\": \"value\"}}\n</tool_call>";
}

std::string xml_call_text(const std::string& name, const Json& arguments) {
  std::string text = "<tool_call>\n<function=" + name + ">\n";
  for (const auto& [key, value] : arguments.items()) {
    const std::string shown = value.is_string() ? value.get<std::string>() : json_text(value);
    text += "<parameter=" + key + ">\n" + shown + "\n</parameter>\n";
  }
  return text + "</function>\n</tool_call>";
}

}  // namespace

Result<AssistantTurn> parse_turn(std::string_view text, ToolSyntax syntax) {
  if (text.size() > max_turn_bytes) {
    return fail(ErrorCode::parse_failed,
                fmt::format("the turn has {} bytes, at most {}", text.size(), max_turn_bytes));
  }
  TextCursor cursor{text};
  auto turn = TurnReader(cursor, syntax).read();
  // Text that does not parse may be a thought opened by the prompt, which ends further down.
  for (size_t tries = 0; !turn && tries < max_calls_per_turn; ++tries) {
    if (!cursor.take_until(close_thought)) break;
    turn = TurnReader(cursor, syntax).read();
  }
  return turn;
}

ToolSyntax syntax_of_renderings(std::string_view json) {
  const Json renderings = Json::parse(json, nullptr, /*allow_exceptions=*/false);
  const Json call = renderings.is_object() ? renderings.value("call", Json()) : Json();
  const bool is_xml = call.is_string() && call.get_ref<const std::string&>().find(
                                              "<function=CallName7>") != std::string::npos;
  return is_xml ? ToolSyntax::xml : ToolSyntax::hermes;
}

std::string call_text(const std::string& name, const Json& arguments, ToolSyntax syntax) {
  if (syntax == ToolSyntax::xml) return xml_call_text(name, arguments);
  return "<tool_call>\n" + json_text(Json{{"name", name}, {"arguments", arguments}}) +
         "\n</tool_call>";
}

std::string tool_schema(const ToolSchema& tool) {
  Json properties = Json::object();
  Json required = Json::array();
  for (const ToolParameter& parameter : tool.parameters) {
    properties[parameter.name] = {{"type", parameter.type}, {"description", parameter.description}};
    if (parameter.required) required.push_back(parameter.name);
  }
  const Json parameters{{"type", "object"}, {"properties", properties}, {"required", required}};
  const Json function{
      {"name", tool.name}, {"description", tool.description}, {"parameters", parameters}};
  return Json{{"type", "function"}, {"function", function}}.dump();
}

std::string tools_prompt(std::span<const ToolSchema> tools, ToolSyntax syntax) {
  std::vector<std::string> schemas;
  schemas.reserve(tools.size());
  for (const ToolSchema& tool : tools) schemas.push_back(tool_schema(tool));
  return tools_prompt(schemas, syntax);
}

std::string tools_prompt(std::span<const std::string> schemas, ToolSyntax syntax) {
  std::string text = "# Tools\n\nEach tool is described by a JSON schema:\n<tools>\n";
  for (const std::string& schema : schemas) text += schema + '\n';
  text += "</tools>\n\nTo call a tool, end your turn with one or more calls written as:\n";
  text += call_example(syntax);
  return text + "\nResults come back between <tool_response> and </tool_response>.";
}

}  // namespace warpsmith::policy
