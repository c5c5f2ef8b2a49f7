// SPDX-License-Identifier: Apache-2.0
#include "policy/text/demonstration_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <deque>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <utility>

#include "policy/text/tool_call_grammar.hpp"
#include "policy/text/unicode.hpp"
#include "runtime/json_text.hpp"
#include "runtime/received_json.hpp"
#include "runtime/text.hpp"

namespace warpsmith::policy {
namespace {

using Json = nlohmann::ordered_json;
using Names = std::map<std::string_view, const char*>;

constexpr int most_levels = 64;

/// How a format names the parts of a conversation.
struct Format {
  const char* role;
  const char* content;
  Names roles;  // → the role of a ChatMessage
};

const Format openai{"role",
                    "content",
                    {{"system", "system"},
                     {"developer", "system"},
                     {"user", "user"},
                     {"assistant", "assistant"},
                     {"tool", "tool"}}};
const Format sharegpt{"from",
                      "value",
                      {{"system", "system"},
                       {"human", "user"},
                       {"user", "user"},
                       {"gpt", "assistant"},
                       {"assistant", "assistant"},
                       {"tool", "tool"},
                       {"observation", "tool"}}};

/// Keys of a message that public files have and that are not read, each with its remedy.
const Names refused_in_message{
    {"function_call", "write the call as \"tool_calls\""},
    {"name", "the chat format shows no names; write it into the content"},
    {"reasoning", "write it into the content, between <think> and </think>"},
    {"reasoning_content", "write it into the content, between <think> and </think>"},
    {"thinking", "write it into the content, between <think> and </think>"},
    {"refusal", "write it into the content"},
    {"audio", "leave the row out: only text is learned"},
};

/// The same for a row. Other keys of a row are notes, such as its source.
const Names refused_in_row{
    {"chosen", "write the preferred answer as \"messages\": pairs are not compared"},
    {"rejected", "write the preferred answer as \"messages\": pairs are not compared"},
    {"label", "leave out the rows with bad answers, and then the key"},
    {"functions", "write them as \"tools\""},
    {"function_call", "leave the key out: each turn shows its calls"},
    {"parallel_tool_calls", "leave the key out: each turn shows its calls"},
    {"images", "leave the row out: only text is learned"},
    {"videos", "leave the row out: only text is learned"},
    {"audios", "leave the row out: only text is learned"},
    {"chat_template_kwargs", "leave the key out: agent.chat_template names the template"},
    {"train", "write it into the messages"},
    {"weight", "write it into the messages"},
};

tl::unexpected<Error> refuse(const std::string& place, const std::string& what) {
  return fail(ErrorCode::parse_failed, place + ": " + what);
}

tl::unexpected<Error> misfit(const std::string& place, const std::string& expected,
                             const Json& found) {
  constexpr size_t most = 60;
  const std::string text = json_text(found);
  const std::string shown = text.size() <= most ? text : to_valid_utf8(text.substr(0, most)) + "…";
  return refuse(place, "expected " + expected + ", got " + shown);
}

/// The value of a key; null if there is none.
const Json& at(const Json& object, const std::string& key) {
  static const Json none;
  const auto found = object.find(key);
  return found == object.end() ? none : *found;
}

Result<void> check_keys(const std::string& place, const Json& object, const Names& refused) {
  for (const auto& [key, value] : object.items()) {
    const auto remedy = refused.find(key);
    if (remedy == refused.end() || value.is_null()) continue;
    return refuse(place + key, std::string("the key is not supported; ") + remedy->second);
  }
  return {};
}

/// A JSON object, or a string that holds one.
Result<Json> object_of(const std::string& place, const Json& value) {
  if (value.is_null()) return Json::object();
  if (value.is_object()) return value;
  Json parsed = value.is_string() ? received_json<Json>(value.get<std::string>()) : Json();
  if (parsed.is_object()) return parsed;
  return misfit(place, "a JSON object, or a string that holds one", value);
}

/// A string, or a list of text parts. A null is empty.
Result<std::string> content_of(const std::string& place, const Json& content) {
  if (content.is_null()) return std::string();
  if (content.is_string()) return content.get<std::string>();
  if (!content.is_array()) return misfit(place, "a string or a list of text parts", content);
  std::string text;
  for (size_t i = 0; i < content.size(); ++i) {
    const Json& part = content[i];
    const bool is_text =
        part.is_object() && at(part, "type") == "text" && at(part, "text").is_string();
    if (!is_text) {
      return misfit(fmt::format("{}[{}]", place, i),
                    R"(a part {"type": "text", "text": …}, because only text is learned)", part);
    }
    text += part["text"].get<std::string>();
  }
  return text;
}

/// Reads the messages of a row one after the other.
class ConversationReader {
 public:
  explicit ConversationReader(ToolSyntax syntax) : syntax_(syntax) {}

  /// `place` names the list; `train`: whether assistants' turns are trained by default.
  Result<void> add_all(const std::string& place, const Json& list, bool train) {
    if (!list.is_array() || list.empty()) {
      return misfit(place, "a list with at least one message", list);
    }
    for (size_t i = 0; i < list.size(); ++i) {
      TRY_VOID(add(fmt::format("{}[{}]", place, i), list[i], train));
    }
    return {};
  }
  void add_text(const char* role, std::string text) {
    messages_.push_back({role, std::move(text), std::string_view(role) == "assistant"});
  }
  /// Puts text after the system message, which it makes if there is none.
  void add_to_system(const std::string& text) {
    if (messages_.empty() || messages_.front().role != "system") {
      messages_.insert(messages_.begin(), {"system", text, false});
    } else {
      append(messages_.front().content, text);
    }
  }
  std::vector<ChatMessage> take() { return std::move(messages_); }

 private:
  Result<void> add(const std::string& place, const Json& json, bool train) {
    if (!json.is_object()) return misfit(place, "a message, which is an object", json);
    const Format& format = json.contains(sharegpt.role) ? sharegpt : openai;
    TRY(const std::string role, read_role(place, json, format));
    TRY_VOID(check_message_keys(place, json, role, format));
    const Json &given = at(json, format.content), &calls = at(json, "tool_calls");
    const std::string content_place = place + '.' + format.content;
    TRY(std::string content, content_of(content_place, given));
    if (calls.is_null() && given.is_null()) {
      return refuse(content_place, "expected a text, got none; leave the row out");
    }
    TRY(const bool trained, is_trained(place, json, role == "assistant", train));
    TRY_VOID(check_result(place, json, role));
    if (!calls.is_null()) TRY_VOID(add_calls(place + ".tool_calls", calls, content));
    return keep(place, {role, std::move(content), trained});
  }

  static Result<std::string> read_role(const std::string& place, const Json& json,
                                       const Format& format) {
    const Json& name = at(json, format.role);
    const auto role = format.roles.find(name.is_string() ? name.get<std::string>() : "");
    if (role != format.roles.end()) return std::string(role->second);
    std::string known;
    for (const auto& [one, unused] : format.roles) {
      known += (known.empty() ? "" : ", ") + std::string(one);
    }
    return misfit(place + '.' + format.role, "one of " + known, name);
  }

  static Result<void> check_message_keys(const std::string& place, const Json& json,
                                         const std::string& role, const Format& format) {
    Names refused = refused_in_message;
    if (role == "tool") refused.erase("name");  // of the tool, which the call shows
    TRY_VOID(check_keys(place + '.', json, refused));
    const std::array<std::string_view, 5> known{format.role, format.content, "train", "weight",
                                                "name"};
    for (const auto& [key, value] : json.items()) {
      const bool calls =
          (role == "assistant" && key == "tool_calls") || (role == "tool" && key == "tool_call_id");
      if (calls || value.is_null() || refused.contains(key)) continue;
      if (std::ranges::find(known, key) != known.end()) continue;
      return refuse(fmt::format("{}.{}", place, key),
                    fmt::format("unknown key in a message of role {}; leave it out, or write it "
                                "into the content",
                                role));
    }
    return {};
  }

  /// From `train` and `weight`; either can exclude a turn.
  static Result<bool> is_trained(const std::string& place, const Json& json, bool assistant,
                                 bool by_default) {
    const Json &train = at(json, "train"), &weight = at(json, "weight");
    if (!train.is_null() && !train.is_boolean()) {
      return misfit(place + ".train", "true or false", train);
    }
    if (!weight.is_null() && weight != 0 && weight != 1) {
      return misfit(place + ".weight", "0 or 1, because a turn is trained on or not", weight);
    }
    if (!assistant && train == true) {
      return refuse(place + ".train", "only turns of the assistant are trained on; leave it out");
    }
    const bool trained = train.is_null() ? by_default || weight == 1 : train.get<bool>();
    return assistant && trained && weight != 0;
  }

  /// Results are written in the order of their calls, without ids.
  Result<void> check_result(const std::string& place, const Json& json, const std::string& role) {
    if (role != "tool") {
      calls_.clear();
      return {};
    }
    if (calls_.empty()) return {};
    const Json expected = std::exchange(calls_.front(), Json());
    calls_.pop_front();
    const Json& id = at(json, "tool_call_id");
    if (id.is_null() || expected.is_null() || id == expected) return {};
    return misfit(place + ".tool_call_id",
                  json_text(expected) + ", because results follow in the order of the calls", id);
  }

  /// Writes the calls after the text.
  Result<void> add_calls(const std::string& place, const Json& calls, std::string& content) {
    if (!calls.is_array()) return misfit(place, "a list of calls", calls);
    for (size_t i = 0; i < calls.size(); ++i) {
      TRY(const std::string call, read_call(fmt::format("{}[{}]", place, i), calls[i]));
      content += (content.empty() ? "" : "\n") + call;
    }
    return {};
  }

  Result<std::string> read_call(const std::string& place, const Json& call) {
    const Json& function = call.is_object() && call.contains("function") ? call["function"] : call;
    if (!function.is_object() || !at(function, "name").is_string()) {
      return misfit(place, R"({"function": {"name": …, "arguments": {…}}})", call);
    }
    TRY(const Json arguments, object_of(place + ".arguments", at(function, "arguments")));
    calls_.push_back(at(call, "id"));
    return call_text(function["name"].get<std::string>(), arguments, syntax_);
  }

  Result<void> keep(const std::string& place, ChatMessage message) {
    if (message.role != "system" || messages_.empty()) {
      messages_.push_back(std::move(message));
      return {};
    }
    if (messages_.back().role != "system") {
      return refuse(place, "a system message can only come first; move it, or leave the row out");
    }
    append(messages_.back().content, message.content);
    return {};
  }

  static void append(std::string& content, const std::string& more) {
    content += (content.empty() ? "" : "\n\n") + more;
  }

  ToolSyntax syntax_;
  std::vector<ChatMessage> messages_;
  std::deque<Json> calls_;  // ids of the last turn's calls without a result
};

/// `prompt` and `completion`: two texts, or two lists of messages. Only the completion is trained.
Result<void> add_completion(const Json& row, ConversationReader& reader) {
  const Json &prompt = at(row, "prompt"), &completion = at(row, "completion");
  if (prompt.is_string() && completion.is_string()) {
    reader.add_text("user", prompt.get<std::string>());
    reader.add_text("assistant", completion.get<std::string>());
    return {};
  }
  if (prompt.is_string() || completion.is_string()) {
    const bool first = prompt.is_string();
    return misfit(first ? "completion" : "prompt",
                  fmt::format("a text, as \"{}\" is one", first ? "prompt" : "completion"),
                  first ? completion : prompt);
  }
  TRY_VOID(reader.add_all("prompt", prompt, /*train=*/false));
  return reader.add_all("completion", completion, /*train=*/true);
}

/// `tools`: written into the system message, as `serve` does.
Result<void> add_tools(const Json& tools, ToolSyntax syntax, ConversationReader& reader) {
  if (tools.is_null()) return {};
  if (!tools.is_array()) return misfit("tools", "a list of tools with JSON schemas", tools);
  std::vector<std::string> schemas;
  for (const Json& tool : tools) schemas.push_back(json_text(tool));
  if (!schemas.empty()) reader.add_to_system(tools_prompt(schemas, syntax));
  return {};
}

/// The key that says which format a row has; `parse_failed` unless it is one.
Result<std::string> format_key(const Json& row) {
  std::string found, keys;
  for (const auto& [key, value] : row.items()) {
    keys += (keys.empty() ? "" : ", ") + key;
    if (value.is_null() || (key != "messages" && key != "conversations" && key != "prompt"))
      continue;
    if (!found.empty()) return refuse(key, "the row also has \"" + found + "\"; keep one of them");
    found = key;
  }
  if (!found.empty()) return found;
  return fail(ErrorCode::parse_failed,
              R"(expected "messages", "conversations", or "prompt" and "completion", got )" +
                  (keys.empty() ? std::string("no key") : "only " + keys) +
                  "; write the row in one of these formats");
}

Result<Demonstration> demonstration_of(const Json& row, ToolSyntax syntax) {
  TRY(const std::string key, format_key(row));
  TRY_VOID(check_keys("", row, refused_in_row));
  ConversationReader reader{syntax};
  const Json& system = at(row, "system");
  if (!system.is_null() && !system.is_string()) return misfit("system", "a text", system);
  if (key == "prompt") {
    TRY_VOID(add_completion(row, reader));
  } else {
    TRY_VOID(reader.add_all(key, row[key], /*train=*/true));
  }
  if (system.is_string()) reader.add_to_system(system.get<std::string>());
  TRY_VOID(add_tools(at(row, "tools"), syntax, reader));
  Demonstration demonstration{{}, reader.take()};
  if (at(row, "task_id").is_string()) demonstration.task_id = row["task_id"].get<std::string>();
  return demonstration;
}

/// Where the bytes stop being UTF-8; empty if they never do.
std::optional<size_t> invalid_utf8_at(std::string_view bytes) {
  for (size_t at = 0; at < bytes.size();) {
    const Utf8Step step = next_utf8(bytes.substr(at));
    if (step.state != Utf8State::valid) return at;
    at += step.length;
  }
  return std::nullopt;
}

/// For a line that is malformed. Bytes are counted from 1, as editors count columns.
std::string why_not_json(const std::string& line) {
  if (const auto at = invalid_utf8_at(line)) {
    return fmt::format(
        "not UTF-8 at byte {} (0x{:02x}); convert the file, for example by iconv -t "
        "UTF-8",
        *at + 1, static_cast<unsigned char>(line[*at]));
  }
  try {
    JsonDepth depth{most_levels};
    [[maybe_unused]] const Json row = Json::parse(without_lone_surrogates(line), depth.watch());
  } catch (const Json::parse_error& error) {
    return error.byte > line.size()
               ? fmt::format(
                     "not JSON: the line ends at byte {} within a value; write each object "
                     "on one line",
                     line.size())
               : fmt::format("not JSON at byte {}; write one JSON object per line", error.byte);
  }
  return fmt::format("nested more than {} levels deep; leave the row out", most_levels);
}

}  // namespace

Result<Demonstration> parse_demonstration(const std::string& line, ToolSyntax syntax) {
  const auto row = received_json<Json>(line, most_levels);
  if (row.is_object()) return demonstration_of(row, syntax);
  if (row.is_discarded()) return fail(ErrorCode::parse_failed, why_not_json(line));
  return fail(ErrorCode::parse_failed,
              fmt::format("expected a JSON object, got JSON of type {}; write one object per line",
                          row.type_name()));
}

Result<std::vector<Demonstration>> read_demonstrations(const std::filesystem::path& file,
                                                       ToolSyntax syntax) {
  std::ifstream in{file};
  if (!in) return fail(ErrorCode::not_found, file.string() + ": no such demonstration file");
  std::vector<Demonstration> all;
  std::string line;
  for (size_t number = 1; std::getline(in, line); ++number) {
    if (number == 1) line = std::string(without_byte_order_mark(line));
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    auto one = parse_demonstration(line, syntax);
    if (!one) return fail(fmt::format("{}:{}", file.string(), number), one.error());
    all.push_back(std::move(*one));
  }
  return all;
}

}  // namespace warpsmith::policy
