// SPDX-License-Identifier: Apache-2.0
// The text of one assistant turn to tool calls and back, in the two syntaxes that models are
// trained on. Pure. Knows no tool: names and parameters are checked by whoever runs the call.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/parsed_call.hpp"
#include "runtime/result.hpp"

namespace warpsmith::policy {

/// Bounds of one turn: past one, the turn is malformed.
inline constexpr size_t max_calls_per_turn = 16;
inline constexpr size_t max_turn_bytes = 1U << 20U;
inline constexpr size_t max_json_depth = 32;

/// What the model said: words outside of calls, then its calls in order. No calls: it is done.
struct AssistantTurn {
  std::string words;
  std::vector<ParsedCall> calls;
};

/// Parses a whole turn, without its end-of-turn token. Thoughts (up to the last `</think>`) are
/// skipped. The error's message is meant for the model: line, what was expected, what stood there.
Result<AssistantTurn> parse_turn(std::string_view text, ToolSyntax syntax);

/// The part of a system message that offers the tools: their JSON schemas and the call syntax.
std::string tools_prompt(std::span<const ToolSchema> tools, ToolSyntax syntax);

}  // namespace warpsmith::policy
