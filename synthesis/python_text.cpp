// SPDX-License-Identifier: Apache-2.0
#include "synthesis/python_text.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <nlohmann/json.hpp>

#include "runtime/json_depth.hpp"

namespace warpsmith::synthesis {
namespace {

constexpr size_t shown_bytes = 80;
constexpr size_t most_listed = 12;       // definitions
constexpr int most_depth = 16;           // of JSON
constexpr size_t most_members = 10'000;  // of JSON; each is compared with all others

constexpr std::array<std::string_view, 35> keywords{
    "False", "None",     "True",  "and",    "as",   "assert", "async",  "await",    "break",
    "class", "continue", "def",   "del",    "elif", "else",   "except", "finally",  "for",
    "from",  "global",   "if",    "import", "in",   "is",     "lambda", "nonlocal", "not",
    "or",    "pass",     "raise", "return", "try",  "while",  "with",   "yield"};

bool in_name(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

/// The name after the keyword at the start of the line; empty if there is none.
std::string_view defined_name(std::string_view line, std::string_view keyword) {
  if (!line.starts_with(keyword)) return {};
  line.remove_prefix(keyword.size());
  const size_t space = line.find_first_not_of(" \t");
  if (space == 0 || space == std::string_view::npos) return {};
  line.remove_prefix(space);
  return line.substr(0,
                     static_cast<size_t>(std::ranges::find_if_not(line, in_name) - line.begin()));
}

/// Calls `see` with each line until it returns true; whether one did.
template <class See>
bool any_line(std::string_view text, See see) {
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    if (see(text.substr(0, end))) return true;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return false;
}

std::string joined(const std::vector<std::string>& parts) {
  std::string out;
  for (const std::string& part : parts) out += (out.empty() ? "" : ", ") + part;
  return out;
}

bool is_of(JsonType type, const OrderedJson& value) {
  switch (type) {
    case JsonType::string:
      return value.is_string();
    case JsonType::array:
      return value.is_array();
    case JsonType::object:
      return value.is_object();
  }
  return false;
}

}  // namespace

bool has_definition(std::string_view text, const Needed& part) {
  return any_line(
      text, [&](std::string_view line) { return defined_name(line, part.keyword) == part.name; });
}

std::string definitions_in(std::string_view text) {
  std::vector<std::string> found;
  const bool more = any_line(text, [&](std::string_view line) {
    for (const std::string_view keyword : {"class", "def"}) {
      const std::string_view name = defined_name(line, keyword);
      if (name.empty()) continue;
      if (found.size() == most_listed) return true;
      found.push_back(std::string{keyword} + ' ' + std::string{name.substr(0, shown_bytes)});
    }
    return false;
  });
  return found.empty() ? "nothing" : joined(found) + (more ? ", …" : "");
}

bool is_python_name(std::string_view text) {
  if (text.empty() || std::isdigit(static_cast<unsigned char>(text.front())) != 0) return false;
  return std::ranges::all_of(text, in_name) && std::ranges::find(keywords, text) == keywords.end();
}

std::string python_literal(const OrderedJson& value) {
  std::vector<std::string> parts;
  switch (value.type()) {
    case OrderedJson::value_t::null:
      return "None";
    case OrderedJson::value_t::boolean:
      return value.get<bool>() ? "True" : "False";
    case OrderedJson::value_t::array:
      for (const OrderedJson& item : value) parts.push_back(python_literal(item));
      return '[' + joined(parts) + ']';
    case OrderedJson::value_t::object:
      for (const auto& [key, item] : value.items()) {
        parts.push_back(json_text(OrderedJson(key)) + ": " + python_literal(item));
      }
      return '{' + joined(parts) + '}';
    default:
      return json_text(value);  // numbers, and texts: Python reads the same escapes
  }
}

std::string python_quoted(const std::string& text) {
  const bool plain = text.find_first_of("'\\\n\r") == std::string::npos;
  return plain ? '\'' + text + '\'' : json_text(OrderedJson(text));
}

Result<OrderedJson> read_json(std::string_view text) {
  JsonDepth depth{most_depth};
  size_t members = 0;
  const auto keep = [&, watch = depth.watch()](int level, OrderedJson::parse_event_t event,
                                               OrderedJson& value) {
    members += event == OrderedJson::parse_event_t::key ? 1 : 0;
    return watch(level, event, value) && members <= most_members;
  };
  try {
    OrderedJson parsed = OrderedJson::parse(text, keep);
    if (depth.exceeded()) return fail(ErrorCode::parse_failed, "the JSON is nested too deeply");
    if (members <= most_members) return parsed;
    return fail(ErrorCode::parse_failed, "the JSON has more than 10,000 members");
  } catch (const OrderedJson::exception& error) {
    return fail(ErrorCode::parse_failed, std::string{"invalid JSON: "} + error.what());
  }
}

std::string shown(const OrderedJson& value) {
  std::string text = json_text(value);
  if (text.size() <= shown_bytes) return text;
  size_t end = shown_bytes;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) --end;
  return text.substr(0, end) + "…";
}

Result<const OrderedJson*> member(const OrderedJson& object, const std::string& key,
                                  JsonType type) {
  const auto found = object.is_object() ? object.find(key) : object.end();
  if (found != object.end() && is_of(type, *found)) return &*found;
  constexpr std::array<const char*, 3> names{"a text", "a list", "an object"};
  const std::string expected = names.at(static_cast<size_t>(type));
  if (!object.is_object()) {
    return fail(ErrorCode::parse_failed,
                "expected an object with " + key + ", got " + shown(object));
  }
  return fail(ErrorCode::parse_failed,
              key + ": expected " + expected + ", got " +
                  (found == object.end() ? "no such member" : shown(*found)));
}

}  // namespace warpsmith::synthesis
