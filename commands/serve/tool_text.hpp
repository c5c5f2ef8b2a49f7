// SPDX-License-Identifier: Apache-2.0
// Tool calls between OpenAI's form (arguments are JSON) and the model's syntax (arguments are
// text). Pure.
#pragma once

#include <map>
#include <span>
#include <string>

#include "commands/serve/api_request.hpp"
#include "runtime/json_text.hpp"
#include "runtime/parsed_call.hpp"

namespace warpsmith::commands {

/// A call as the model's syntax writes it. `arguments` is a JSON object.
std::string call_text(const std::string& name, const nlohmann::ordered_json& arguments,
                      ToolSyntax syntax);

/// The arguments of a call as a JSON object, as text. A value is a string if the tool's schema says
/// so or if its text is no JSON; else it is the JSON value of its text.
std::string arguments_json(const ParsedCall& call, std::span<const ApiTool> tools);

/// The system message with the tools' schemas after it.
std::string with_tools(const std::string& system, std::span<const ApiTool> tools,
                       ToolSyntax syntax);

}  // namespace warpsmith::commands
