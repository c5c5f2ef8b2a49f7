// SPDX-License-Identifier: Apache-2.0
// Requests of OpenAI's interface: what a body says, or why it is refused. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "commands/serve/api_error.hpp"
#include "policy/generate/engine/sampling.hpp"
#include "policy/text/chat_format.hpp"
#include "runtime/model_turn.hpp"

namespace warpsmith::commands {

enum class Endpoint : uint8_t { chat, completions };

/// A tool that the client offers.
struct ApiTool {
  std::string name;
  std::string schema;      // JSON, as the client wrote it
  std::string parameters;  // the JSON schema of its arguments; "null" if it has none
};

/// A prompt of /v1/completions: text or tokens.
using ApiPrompt = std::variant<std::string, std::vector<int32_t>>;

struct ApiRequest {
  Endpoint endpoint = Endpoint::chat;
  std::string model;
  std::vector<policy::ChatMessage> messages;  // of chat; calls are written in the model's syntax
  std::vector<ApiTool> tools;
  std::vector<ApiPrompt> prompts;  // of completions
  int32_t choices = 1;             // answers per prompt ("n")
  policy::SamplingParams sampling;
  bool limited = false;  // `sampling.max_tokens` is given; else the context is the limit
  std::optional<uint64_t> seed;
  std::vector<std::string> stop;  // at most four, none empty
  bool log_probs = false, stream = false, include_usage = false;
  bool ignore_stop_tokens = false;  // "ignore_eos", for measurements
};

inline constexpr size_t max_stop_strings = 4;
inline constexpr size_t max_stop_bytes = 256;
inline constexpr size_t max_messages = 4096;
inline constexpr size_t max_tools = 128;
inline constexpr size_t max_prompts = 64;
inline constexpr int32_t max_choices = 16;

/// Parses a body. Parameters that would change the result and are not supported are refused by
/// name, and so are unknown ones; those without effect on the result (`user`, `metadata`, …) are
/// ignored. A null counts as absent, except within schemas and arguments of tools.
ApiResult<ApiRequest> parse_request(Endpoint endpoint, std::string_view body, ToolSyntax syntax);

}  // namespace warpsmith::commands
