// SPDX-License-Identifier: Apache-2.0
// Parses and writes the tool calls of an assistant turn, and describes the call syntax, in two
// syntaxes. Does not check names and parameters against the tools. Pure.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/json_text.hpp"
#include "runtime/model_turn.hpp"
#include "runtime/result.hpp"

namespace warpsmith::policy {

/// Limits of one turn; a turn that exceeds one is malformed.
inline constexpr size_t max_calls_per_turn = 16;
inline constexpr size_t max_turn_bytes = 1U << 20U;
inline constexpr int max_json_depth = 32;

/// The text outside of calls, and the calls in order. A turn without calls ends the trajectory.
struct AssistantTurn {
  std::string words;
  std::vector<ParsedCall> calls;
  /// Of each call: its arguments as JSON text, as the model wrote them; empty if the syntax writes
  /// values as text.
  std::vector<std::string> written;
};

/// Parses a turn without its end-of-turn token. Skips thoughts: between `<think>` and `</think>`,
/// and up to a `</think>` outside of calls that nothing opened. Tags in a call's values are text. A
/// JSON null counts as absent. The error message is for the model: the line, what was expected,
/// what was found.
Result<AssistantTurn> parse_turn(std::string_view text, ToolSyntax syntax);

/// The syntax in which a chat template writes a call, by its renderings
/// (scripts/render_chat_template.py): `xml` if it writes `<function=NAME>`, else `hermes`, also for
/// a template that writes no calls.
ToolSyntax syntax_of_renderings(std::string_view json);

/// A call as the syntax writes it. `arguments` is a JSON object.
std::string call_text(const std::string& name, const nlohmann::ordered_json& arguments,
                      ToolSyntax syntax);

/// A tool as OpenAI's API describes it: one line of JSON, {"type": "function", "function": {…}}.
std::string tool_schema(const ToolSchema& tool);

/// The part of a system message with the tools' JSON schemas and the call syntax.
std::string tools_prompt(std::span<const ToolSchema> tools, ToolSyntax syntax);
/// The same for schemas that are already written, each as one line of JSON.
std::string tools_prompt(std::span<const std::string> schemas, ToolSyntax syntax);

}  // namespace warpsmith::policy
