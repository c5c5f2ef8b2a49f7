// SPDX-License-Identifier: Apache-2.0
#include "commands/serve/api_request.hpp"

#include <functional>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "commands/serve/api_messages.hpp"
#include "commands/serve/api_values.hpp"

namespace warpsmith::commands {
namespace {

using Json = nlohmann::ordered_json;

constexpr int64_t most_tokens = std::numeric_limits<int32_t>::max();
constexpr int32_t completion_tokens = 16;  // OpenAI's default for /v1/completions

struct Reading {
  ApiRequest& request;
  ToolSyntax syntax;
};
using Reader = std::function<ApiResult<void>(const std::string&, const Json&, Reading)>;

/// Stores a value that was read.
template <class T, class To>
ApiResult<void> store(ApiResult<T> value, To& to) {
  if (!value) return tl::unexpected(std::move(value.error()));
  to = static_cast<To>(std::move(*value));
  return {};
}

/// Only values without effect are taken: the engine has nothing that others could set.
Reader only(std::vector<Json> values, const std::string& what) {
  return [values = std::move(values), what](const std::string& name, const Json& value, Reading) {
    for (const Json& one : values) {
      if (value == one) return ApiResult<void>{};
    }
    return ApiResult<void>(refuse_parameter(name, "not supported here; " + what));
  };
}

Reader ignored() {
  return [](const std::string&, const Json&, Reading) { return ApiResult<void>{}; };
}

Reader flag(bool ApiRequest::* member) {
  return [member](const std::string& name, const Json& value, Reading to) {
    return store(read_flag(name, value), to.request.*member);
  };
}

ApiResult<void> read_max_tokens(const std::string& name, const Json& value, Reading to) {
  const int32_t before = to.request.sampling.max_tokens;
  const auto tokens = read_whole(name, value, 1, most_tokens);
  if (!tokens) return tl::unexpected(tokens.error());
  if (to.request.limited && before != *tokens) {
    return refuse_parameter(name, "max_tokens and max_completion_tokens differ");
  }
  to.request.sampling.max_tokens = static_cast<int32_t>(*tokens);
  to.request.limited = true;
  return {};
}

ApiResult<void> read_seed(const std::string& name, const Json& value, Reading to) {
  const auto seed = read_whole(name, value, std::numeric_limits<int64_t>::min(),
                               std::numeric_limits<int64_t>::max());
  if (!seed) return tl::unexpected(seed.error());
  to.request.seed = static_cast<uint64_t>(*seed);
  return {};
}

ApiResult<void> read_stream_options(const std::string& name, const Json& value, Reading to) {
  if (!value.is_object()) return unexpected_value(name, "an object", value);
  for (const auto& [key, option] : value.items()) {
    const std::string at = name + "." + key;
    if (key == "include_obfuscation" && option == false) continue;
    if (key != "include_usage") return refuse_parameter(at, "not supported here; leave it out");
    if (auto read = store(read_flag(at, option), to.request.include_usage); !read) return read;
  }
  return {};
}

ApiResult<void> read_response_format(const std::string& name, const Json& value, Reading /*to*/) {
  if (value.is_object() && value.contains("type") && value["type"] == "text") return {};
  return refuse_parameter(name, R"(not supported here; expected {"type": "text"})");
}

/// What both endpoints take.
std::map<std::string, Reader> common_readers() {
  const std::string zero = "expected 0";
  const std::string leave_out = "leave it out";
  std::map<std::string, Reader> readers{
      {"model", [](const std::string& name, const Json& value,
                   Reading to) { return store(read_string(name, value), to.request.model); }},
      {"temperature",
       [](const std::string& name, const Json& value, Reading to) {
         return store(read_number(name, value, 0, 2), to.request.sampling.temperature);
       }},
      {"top_p",
       [](const std::string& name, const Json& value, Reading to) {
         return store(read_number(name, value, 1e-9, 1), to.request.sampling.top_p);
       }},
      {"top_k",
       [](const std::string& name, const Json& value, Reading to) {
         return store(read_whole(name, value, 0, 1 << 20U), to.request.sampling.top_k);
       }},
      {"n",
       [](const std::string& name, const Json& value, Reading to) {
         return store(read_whole(name, value, 1, max_choices), to.request.choices);
       }},
      {"stop", [](const std::string& /*name*/, const Json& value,
                  Reading to) { return store(read_stop(value), to.request.stop); }},
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
  readers["messages"] = [](const std::string& /*name*/, const Json& value, Reading to) {
    return store(read_messages(value, to.syntax), to.request.messages);
  };
  readers["tools"] = [](const std::string& /*name*/, const Json& value, Reading to) {
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
  readers["prompt"] = [](const std::string& /*name*/, const Json& value, Reading to) {
    return store(read_prompts(value), to.request.prompts);
  };
  readers["logprobs"] = [](const std::string& name, const Json& value, Reading to) {
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

ApiResult<void> read_all(const Json& body, Reading to) {
  const auto& readers = readers_of(to.request.endpoint);
  for (const auto& [name, value] : body.items()) {
    if (value.is_null()) continue;
    const auto reader = readers.find(name);
    if (reader == readers.end()) {
      return refuse_parameter(name, "unknown or not supported here; leave it out",
                              "unsupported_parameter");
    }
    if (auto read = reader->second(name, value, to); !read) return read;
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
  const auto parsed = read_object(body);
  if (!parsed) return tl::unexpected(parsed.error());
  ApiRequest request{.endpoint = endpoint};
  if (auto read = read_all(*parsed, {request, syntax}); !read) {
    return tl::unexpected(std::move(read.error()));
  }
  if (auto fine = check_request(*parsed, request); !fine) {
    return tl::unexpected(std::move(fine.error()));
  }
  return request;
}

}  // namespace warpsmith::commands
