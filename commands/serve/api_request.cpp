// SPDX-License-Identifier: Apache-2.0
#include "commands/serve/api_request.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>

#include "policy/text/tool_arguments.hpp"
#include "policy/text/tool_call_grammar.hpp"
#include "runtime/json_text.hpp"
#include "runtime/received_json.hpp"

namespace warpsmith::commands {
namespace {

using Json = nlohmann::ordered_json;

// --- the parts of a request that are text: messages, tools, prompts

std::string place(const std::string& list, size_t index) {
  return fmt::format("{}[{}]", list, index);
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
    TRY(const auto part, read_part(place(at, i), content[i]));
    text += part;
  }
  return text;
}

/// The arguments of a call of the client's history.
ApiResult<Json> read_call_arguments(const std::string& at, const Json& value) {
  if (auto arguments = policy::read_arguments(value)) return std::move(*arguments);
  return unexpected_value(at, "a JSON object, written as a string", value);
}

ApiResult<std::string> read_call(const std::string& at, const Json& call, ToolSyntax syntax) {
  if (!call.is_object() || !call.contains("function") || !call["function"].is_object()) {
    return unexpected_value(at, R"({"id", "type": "function", "function": {…}})", call);
  }
  const Json& function = call["function"];
  if (!function.contains("name")) {
    return unexpected_value(at + ".function", R"({"name", "arguments"})", function);
  }
  TRY(const auto name, read_string(at + ".function.name", function["name"]));
  TRY(const auto arguments,
      read_call_arguments(at + ".function.arguments", function.value("arguments", Json())));
  return policy::call_text(name, arguments, syntax);
}

ApiResult<std::string> read_calls(const std::string& at, const Json& calls, ToolSyntax syntax) {
  if (!calls.is_array()) return unexpected_value(at, "a list of calls", calls);
  std::string text;
  for (size_t i = 0; i < calls.size(); ++i) {
    TRY(const auto call, read_call(place(at, i), calls[i], syntax));
    text += (i == 0 ? "" : "\n") + call;
  }
  return text;
}

/// The text of a message; with an assistant's, its calls too.
ApiResult<std::string> read_text(const std::string& at, const Json& message, bool with_calls,
                                 ToolSyntax syntax) {
  std::string text;
  const bool calls = with_calls && is_given(message, "tool_calls");
  if (is_given(message, "content")) {
    TRY(auto content, read_content(at + ".content", message["content"]));
    text = std::move(content);
  } else if (!calls) {
    return refuse_parameter(at + ".content", "expected a string, got none");
  }
  if (!calls) return text;
  TRY(const auto written, read_calls(at + ".tool_calls", message["tool_calls"], syntax));
  return text.empty() ? written : text + "\n" + written;
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
  TRY(const auto name, read_string(at + ".function.name", function["name"]));
  const Json parameters = function.value("parameters", Json());
  const Json properties = parameters.is_object() ? parameters.value("properties", Json()) : Json();
  if (!properties.is_null() && !properties.is_object()) {
    return unexpected_value(at + ".function.parameters.properties", "an object", properties);
  }
  return ApiTool{name, json_text(value), json_text(parameters)};
}

ApiResult<std::vector<int32_t>> read_tokens(const std::string& at, const Json& value) {
  std::vector<int32_t> tokens;
  tokens.reserve(value.size());
  for (size_t i = 0; i < value.size(); ++i) {
    TRY(const auto token,
        read_whole(place(at, i), value[i], 0, std::numeric_limits<int32_t>::max()));
    tokens.push_back(static_cast<int32_t>(token));
  }
  return tokens;
}

ApiResult<ApiPrompt> read_prompt(const std::string& at, const Json& value) {
  if (value.is_string()) return ApiPrompt{value.get<std::string>()};
  if (!value.is_array()) return unexpected_value(at, "a string or a list of tokens", value);
  TRY(auto tokens, read_tokens(at, value));
  return ApiPrompt{std::move(tokens)};
}

/// "messages". The system messages (or developer's) come first and are joined. An assistant's
/// `tool_calls` are written in the model's syntax after its text.
ApiResult<std::vector<policy::ChatMessage>> read_messages(const Json& value, ToolSyntax syntax) {
  if (!value.is_array() || value.empty() || value.size() > max_messages) {
    return unexpected_value("messages", fmt::format("a list of 1 to {} messages", max_messages),
                            value);
  }
  std::vector<policy::ChatMessage> messages;
  for (size_t i = 0; i < value.size(); ++i) {
    const std::string at = place("messages", i);
    TRY(const auto role, read_role(at, value[i]));
    TRY(auto text, read_text(at, value[i], role == "assistant", syntax));
    TRY_VOID(add_message(at, {role, std::move(text)}, messages));
  }
  return messages;
}

/// "tools": functions with JSON schemas.
ApiResult<std::vector<ApiTool>> read_tools(const Json& value) {
  if (!value.is_array() || value.size() > max_tools) {
    return unexpected_value("tools", fmt::format("a list of at most {} tools", max_tools), value);
  }
  std::vector<ApiTool> tools;
  for (size_t i = 0; i < value.size(); ++i) {
    TRY(auto tool, read_tool(place("tools", i), value[i]));
    tools.push_back(std::move(tool));
  }
  return tools;
}

/// "prompt": a text, tokens, or a list of either.
ApiResult<std::vector<ApiPrompt>> read_prompts(const Json& value) {
  const bool several = value.is_array() && !value.empty() && !value[0].is_number();
  if (several && value.size() > max_prompts) {
    return unexpected_value("prompt", fmt::format("at most {} prompts", max_prompts), value);
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

/// "stop": a text or up to four.
ApiResult<std::vector<std::string>> read_stop(const Json& value) {
  const Json list = value.is_array() ? value : Json::array({value});
  std::vector<std::string> stop;
  for (const Json& text : list) {
    const bool fits = text.is_string() && !text.get_ref<const std::string&>().empty() &&
                      text.get_ref<const std::string&>().size() <= max_stop_bytes;
    if (!fits || list.size() > max_stop_strings) {
      return unexpected_value(
          "stop", fmt::format("a text or a list of up to 4, each of 1 to {} bytes", max_stop_bytes),
          value);
    }
    stop.push_back(text.get<std::string>());
  }
  return stop;
}

// --- a parameter each

constexpr int64_t most_tokens = std::numeric_limits<int32_t>::max();
constexpr int32_t completion_tokens = 16;  // OpenAI's default for /v1/completions

/// What a reader fills in.
struct Target {
  ApiRequest& request;
  ToolSyntax syntax;
};
using Reader = std::function<ApiResult<void>(const std::string&, const Json&, Target)>;

/// Stores a value that was read.
template <class T, class To>
ApiResult<void> store(ApiResult<T> value, To& to) {
  if (!value) return tl::unexpected(std::move(value.error()));
  to = static_cast<To>(std::move(*value));
  return {};
}

/// Accepts only values without effect: the engine cannot do what the others ask for.
Reader only(std::vector<Json> values, const std::string& what) {
  return [values = std::move(values), what](const std::string& name, const Json& value, Target) {
    for (const Json& one : values) {
      if (value == one) return ApiResult<void>{};
    }
    return ApiResult<void>(refuse_parameter(name, "not supported here; " + what));
  };
}

Reader ignored() {
  return [](const std::string&, const Json&, Target) { return ApiResult<void>{}; };
}

Reader flag(bool ApiRequest::* member) {
  return [member](const std::string& name, const Json& value, Target to) {
    return store(read_flag(name, value), to.request.*member);
  };
}

ApiResult<void> read_max_tokens(const std::string& name, const Json& value, Target to) {
  const int32_t before = to.request.sampling.max_tokens;
  TRY(const auto tokens, read_whole(name, value, 1, most_tokens));
  if (to.request.limited && before != tokens) {
    return refuse_parameter(name, "max_tokens and max_completion_tokens differ");
  }
  to.request.sampling.max_tokens = static_cast<int32_t>(tokens);
  to.request.limited = true;
  return {};
}

ApiResult<void> read_seed(const std::string& name, const Json& value, Target to) {
  TRY(const auto seed, read_whole(name, value, std::numeric_limits<int64_t>::min(),
                                  std::numeric_limits<int64_t>::max()));
  to.request.seed = static_cast<uint64_t>(seed);
  return {};
}

ApiResult<void> read_stream_options(const std::string& name, const Json& value, Target to) {
  if (!value.is_object()) return unexpected_value(name, "an object", value);
  for (const auto& [key, option] : value.items()) {
    const std::string at = name + "." + key;
    if (key == "include_obfuscation" && option == false) continue;
    if (key != "include_usage") return refuse_parameter(at, "not supported here; leave it out");
    TRY_VOID(store(read_flag(at, option), to.request.include_usage));
  }
  return {};
}

ApiResult<void> read_response_format(const std::string& name, const Json& value, Target /*to*/) {
  if (value.is_object() && value.contains("type") && value["type"] == "text") return {};
  return refuse_parameter(name, R"(not supported here; expected {"type": "text"})");
}

/// The parameters of both endpoints.
std::map<std::string, Reader> common_readers() {
  const std::string zero = "expected 0";
  const std::string leave_out = "leave it out";
  std::map<std::string, Reader> readers{
      {"model", [](const std::string& name, const Json& value,
                   Target to) { return store(read_string(name, value), to.request.model); }},
      {"temperature",
       [](const std::string& name, const Json& value, Target to) {
         return store(read_number(name, value, 0, 2), to.request.sampling.temperature);
       }},
      {"top_p",
       [](const std::string& name, const Json& value, Target to) {
         return store(read_number(name, value, 1e-9, 1), to.request.sampling.top_p);
       }},
      {"top_k",
       [](const std::string& name, const Json& value, Target to) {
         return store(read_whole(name, value, 0, 1 << 20U), to.request.sampling.top_k);
       }},
      {"n",
       [](const std::string& name, const Json& value, Target to) {
         return store(read_whole(name, value, 1, max_choices), to.request.choices);
       }},
      {"stop", [](const std::string& /*name*/, const Json& value,
                  Target to) { return store(read_stop(value), to.request.stop); }},
      {"max_tokens", read_max_tokens},
      {"seed", read_seed},
      {"stream", flag(&ApiRequest::stream)},
      {"stream_options", read_stream_options},
      {"ignore_eos", flag(&ApiRequest::ignore_stop_tokens)},
      {"frequency_penalty", only({0}, zero)},
      {"presence_penalty", only({0}, zero)},
      {"logit_bias", only({Json::object()}, leave_out)},
  };
  for (const char* name : {"user", "metadata", "store", "service_tier", "safety_identifier",
                           "prompt_cache_key", "prompt_cache_retention"}) {
    readers.emplace(name, ignored());
  }
  return readers;
}

std::map<std::string, Reader> chat_readers() {
  auto readers = common_readers();
  readers["messages"] = [](const std::string& /*name*/, const Json& value, Target to) {
    return store(read_messages(value, to.syntax), to.request.messages);
  };
  readers["tools"] = [](const std::string& /*name*/, const Json& value, Target to) {
    return store(read_tools(value), to.request.tools);
  };
  readers["tool_choice"] = only({"auto", "none"}, R"(expected "auto" or "none")");
  readers["parallel_tool_calls"] = only({true}, "expected true");
  readers["max_completion_tokens"] = read_max_tokens;
  readers["logprobs"] = flag(&ApiRequest::log_probs);
  readers["top_logprobs"] =
      only({0}, "expected 0: only the sampled token's log-probability is known");
  readers["response_format"] = read_response_format;
  readers["modalities"] = only({Json::array({"text"})}, R"(expected ["text"])");
  return readers;
}

std::map<std::string, Reader> completion_readers() {
  auto readers = common_readers();
  readers["prompt"] = [](const std::string& /*name*/, const Json& value, Target to) {
    return store(read_prompts(value), to.request.prompts);
  };
  readers["logprobs"] = [](const std::string& name, const Json& value, Target to) {
    if (value != 0) {
      return ApiResult<void>(
          refuse_parameter(name, "expected 0: only the sampled token's log-probability is known"));
    }
    to.request.log_probs = true;
    return ApiResult<void>{};
  };
  readers["echo"] = only({false}, "expected false");
  readers["suffix"] = only({""}, "leave it out");
  readers["best_of"] = only({1}, "expected 1; ask for several answers with n");
  return readers;
}

const std::map<std::string, Reader>& readers_of(Endpoint endpoint) {
  static const auto chat = chat_readers();
  static const auto completions = completion_readers();
  return endpoint == Endpoint::chat ? chat : completions;
}

ApiResult<void> read_all(const Json& body, Target to) {
  const auto& readers = readers_of(to.request.endpoint);
  for (const auto& [name, value] : body.items()) {
    const auto reader = readers.find(name);
    if (reader == readers.end()) {
      return refuse_parameter(name, "unknown or not supported here; leave it out",
                              "unsupported_parameter");
    }
    TRY_VOID(reader->second(name, value, to));
  }
  return {};
}

/// Conditions of several parameters.
ApiResult<void> check_request(const Json& body, ApiRequest& request) {
  const bool chat = request.endpoint == Endpoint::chat;
  if (request.model.empty()) return refuse_parameter("model", "expected a model's name, got none");
  if (chat && request.messages.empty()) {
    return refuse_parameter("messages", "expected a list of messages, got none");
  }
  if (!chat && request.prompts.empty()) {
    return refuse_parameter("prompt", "expected a text or tokens, got none");
  }
  if (request.include_usage && !request.stream) {
    return refuse_parameter("stream_options", "only for streams; set \"stream\" to true");
  }
  if (body.contains("tool_choice") && body["tool_choice"] == "none") request.tools.clear();
  if (!chat && !request.limited) {
    request.sampling.max_tokens = completion_tokens;
    request.limited = true;
  }
  return {};
}

}  // namespace

ApiResult<ApiRequest> parse_request(Endpoint endpoint, std::string_view body, ToolSyntax syntax) {
  TRY(auto parsed, read_object(body));
  drop_nulls(parsed, {"parameters", "arguments", "metadata"});
  ApiRequest request{.endpoint = endpoint};
  TRY_VOID(read_all(parsed, {request, syntax}));
  TRY_VOID(check_request(parsed, request));
  return request;
}

}  // namespace warpsmith::commands
