// SPDX-License-Identifier: Apache-2.0
#include "commands/serve/api_messages.hpp"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "commands/serve/api_values.hpp"
#include "commands/serve/tool_text.hpp"
#include "policy/text/json_depth.hpp"

namespace warpsmith::commands {
namespace {

using Json = nlohmann::ordered_json;

std::string place(const std::string& list, size_t index) {
  return list + "[" + std::to_string(index) + "]";
}

bool is_given(const Json& object, const char* key) {
  return object.contains(key) && !object[key].is_null();
}

ApiResult<std::string> read_part(const std::string& at, const Json& part) {
  if (!part.is_object() || !part.contains("type") || part["type"] != "text") {
    return unexpected_value(at, R"(a part {"type": "text", "text": …}; this model reads text only)",
                            part);
  }
  if (!part.contains("text")) return refuse_parameter(at + ".text", "expected a string, got none");
  return read_string(at + ".text", part["text"]);
}

/// A content is a string, or a list of text parts.
ApiResult<std::string> read_content(const std::string& at, const Json& content) {
  if (!content.is_array()) {
    if (content.is_string()) return content.get<std::string>();
    return unexpected_value(at, "a string or a list of text parts", content);
  }
  std::string text;
  for (size_t i = 0; i < content.size(); ++i) {
    const auto part = read_part(place(at, i), content[i]);
    if (!part) return part;
    text += *part;
  }
  return text;
}

/// The arguments of a call of the client's history: a JSON object, written as a string.
ApiResult<Json> read_arguments(const std::string& at, const Json& value) {
  const auto text = read_string(at, value);
  if (!text) return tl::unexpected(text.error());
  policy::JsonDepth depth;
  Json parsed = Json::parse(*text, depth.watch(), /*allow_exceptions=*/false);
  if (!parsed.is_object() || depth.exceeded()) {
    return unexpected_value(at, "a JSON object, written as a string", value);
  }
  return parsed;
}

ApiResult<std::string> read_call(const std::string& at, const Json& call, ToolSyntax syntax) {
  if (!call.is_object() || !call.contains("function") || !call["function"].is_object()) {
    return unexpected_value(at, R"({"id", "type": "function", "function": {…}})", call);
  }
  const Json& function = call["function"];
  if (!function.contains("name") || !function.contains("arguments")) {
    return unexpected_value(at + ".function", R"({"name", "arguments"})", function);
  }
  const auto name = read_string(at + ".function.name", function["name"]);
  if (!name) return name;
  const auto arguments = read_arguments(at + ".function.arguments", function["arguments"]);
  if (!arguments) return tl::unexpected(arguments.error());
  return call_text(*name, *arguments, syntax);
}

ApiResult<std::string> read_calls(const std::string& at, const Json& calls, ToolSyntax syntax) {
  if (!calls.is_array()) return unexpected_value(at, "a list of calls", calls);
  std::string text;
  for (size_t i = 0; i < calls.size(); ++i) {
    const auto call = read_call(place(at, i), calls[i], syntax);
    if (!call) return call;
    text += (i == 0 ? "" : "\n") + *call;
  }
  return text;
}

/// The words of a message; of an assistant's, its calls too.
ApiResult<std::string> read_text(const std::string& at, const Json& message, bool with_calls,
                                 ToolSyntax syntax) {
  std::string text;
  const bool calls = with_calls && is_given(message, "tool_calls");
  if (is_given(message, "content")) {
    auto content = read_content(at + ".content", message["content"]);
    if (!content) return content;
    text = std::move(*content);
  } else if (!calls) {
    return refuse_parameter(at + ".content", "expected a string, got none");
  }
  if (!calls) return text;
  const auto written = read_calls(at + ".tool_calls", message["tool_calls"], syntax);
  if (!written) return written;
  return text.empty() ? *written : text + "\n" + *written;
}

ApiResult<std::string> read_role(const std::string& at, const Json& message) {
  static const std::vector<std::string> roles{"system", "developer", "user", "assistant", "tool"};
  if (!message.is_object()) return unexpected_value(at, "an object", message);
  if (!message.contains("role")) return refuse_parameter(at + ".role", "expected a role, got none");
  const Json& role = message["role"];
  if (role == "developer") return std::string("system");
  const std::string name = role.is_string() ? role.get<std::string>() : std::string{};
  if (std::ranges::find(roles, name) != roles.end()) return name;
  return unexpected_value(at + ".role", "system, developer, user, assistant or tool", role);
}

/// Adds a message; a system message is joined to the one before it.
ApiResult<void> add_message(const std::string& at, policy::ChatMessage message,
                            std::vector<policy::ChatMessage>& messages) {
  const bool is_system = message.role == "system";
  if (is_system && !messages.empty()) {
    if (messages.back().role != "system") {
      return refuse_parameter(at + ".role", "a system message can only come first");
    }
    messages.back().content += "\n\n" + message.content;
    return {};
  }
  messages.push_back(std::move(message));
  return {};
}

ApiResult<ApiTool> read_tool(const std::string& at, const Json& value) {
  const bool is_function = value.is_object() && value.contains("type") &&
                           value["type"] == "function" && value.contains("function") &&
                           value["function"].is_object();
  if (!is_function) {
    return unexpected_value(at, R"({"type": "function", "function": {…}})", value);
  }
  const Json& function = value["function"];
  if (!function.contains("name")) {
    return refuse_parameter(at + ".function.name", "expected a string, got none");
  }
  const auto name = read_string(at + ".function.name", function["name"]);
  if (!name) return tl::unexpected(name.error());
  ApiTool tool{.name = *name, .schema = json_text(value)};
  const auto parameters = function.value("parameters", Json::object());
  if (!parameters.is_object() || !parameters.contains("properties")) return tool;
  if (!parameters["properties"].is_object()) {
    return unexpected_value(at + ".function.parameters.properties", "an object",
                            parameters["properties"]);
  }
  for (const auto& [key, property] : parameters["properties"].items()) {
    if (!property.is_object() || !property.contains("type")) continue;
    if (property["type"].is_string()) tool.types[key] = property["type"].get<std::string>();
  }
  return tool;
}

ApiResult<std::vector<int32_t>> read_tokens(const std::string& at, const Json& value) {
  std::vector<int32_t> tokens;
  tokens.reserve(value.size());
  for (size_t i = 0; i < value.size(); ++i) {
    const auto token = read_whole(place(at, i), value[i], 0, std::numeric_limits<int32_t>::max());
    if (!token) return tl::unexpected(token.error());
    tokens.push_back(static_cast<int32_t>(*token));
  }
  return tokens;
}

ApiResult<ApiPrompt> read_prompt(const std::string& at, const Json& value) {
  if (value.is_string()) return ApiPrompt{value.get<std::string>()};
  if (!value.is_array()) return unexpected_value(at, "a string or a list of tokens", value);
  auto tokens = read_tokens(at, value);
  if (!tokens) return tl::unexpected(tokens.error());
  return ApiPrompt{std::move(*tokens)};
}

}  // namespace

ApiResult<std::vector<policy::ChatMessage>> read_messages(const Json& value, ToolSyntax syntax) {
  if (!value.is_array() || value.empty() || value.size() > max_messages) {
    return unexpected_value("messages",
                            "a list of 1 to " + std::to_string(max_messages) + " messages", value);
  }
  std::vector<policy::ChatMessage> messages;
  for (size_t i = 0; i < value.size(); ++i) {
    const std::string at = place("messages", i);
    const auto role = read_role(at, value[i]);
    if (!role) return tl::unexpected(role.error());
    auto text = read_text(at, value[i], *role == "assistant", syntax);
    if (!text) return tl::unexpected(text.error());
    if (auto added = add_message(at, {*role, std::move(*text)}, messages); !added) {
      return tl::unexpected(added.error());
    }
  }
  return messages;
}

ApiResult<std::vector<ApiTool>> read_tools(const Json& value) {
  if (!value.is_array() || value.size() > max_tools) {
    return unexpected_value("tools", "a list of at most " + std::to_string(max_tools) + " tools",
                            value);
  }
  std::vector<ApiTool> tools;
  for (size_t i = 0; i < value.size(); ++i) {
    auto tool = read_tool(place("tools", i), value[i]);
    if (!tool) return tl::unexpected(tool.error());
    tools.push_back(std::move(*tool));
  }
  return tools;
}

ApiResult<std::vector<ApiPrompt>> read_prompts(const Json& value) {
  const bool several = value.is_array() && !value.empty() && !value[0].is_number();
  if (several && value.size() > max_prompts) {
    return unexpected_value("prompt", "at most " + std::to_string(max_prompts) + " prompts", value);
  }
  std::vector<ApiPrompt> prompts;
  const size_t count = several ? value.size() : 1;
  for (size_t i = 0; i < count; ++i) {
    auto prompt =
        several ? read_prompt(place("prompt", i), value[i]) : read_prompt("prompt", value);
    if (!prompt) return tl::unexpected(prompt.error());
    prompts.push_back(std::move(*prompt));
  }
  return prompts;
}

ApiResult<std::vector<std::string>> read_stop(const Json& value) {
  const Json list = value.is_array() ? value : Json::array({value});
  std::vector<std::string> stop;
  for (const Json& text : list) {
    const bool fits = text.is_string() && !text.get_ref<const std::string&>().empty() &&
                      text.get_ref<const std::string&>().size() <= max_stop_bytes;
    if (!fits || list.size() > max_stop_strings) {
      return unexpected_value(
          "stop",
          "a text or a list of up to 4, each of 1 to " + std::to_string(max_stop_bytes) + " bytes",
          value);
    }
    stop.push_back(text.get<std::string>());
  }
  return stop;
}

}  // namespace warpsmith::commands
