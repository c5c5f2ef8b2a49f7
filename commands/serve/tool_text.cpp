// SPDX-License-Identifier: Apache-2.0
#include "commands/serve/tool_text.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "policy/text/json_depth.hpp"
#include "policy/text/tool_call_grammar.hpp"

namespace warpsmith::commands {
namespace {

using Json = nlohmann::ordered_json;

std::string xml_call_text(const std::string& name, const Json& arguments) {
  std::string text = "<tool_call>\n<function=" + name + ">\n";
  for (const auto& [key, value] : arguments.items()) {
    const std::string shown = value.is_string() ? value.get<std::string>() : json_text(value);
    text += "<parameter=" + key + ">\n" + shown + "\n</parameter>\n";
  }
  return text + "</function>\n</tool_call>";
}

/// The type of a parameter in the tool's schema; empty if it names none.
std::string type_in(std::span<const ApiTool> tools, const ParsedCall& call,
                    const std::string& parameter) {
  const auto tool = std::ranges::find(tools, call.name, &ApiTool::name);
  if (tool == tools.end()) return {};
  const auto type = tool->types.find(parameter);
  return type == tool->types.end() ? std::string{} : type->second;
}

Json value_of(const std::string& text, const std::string& type) {
  if (type == "string") return text;
  policy::JsonDepth depth;
  Json value = Json::parse(text, depth.watch(), /*allow_exceptions=*/false);
  return value.is_discarded() || depth.exceeded() ? Json(text) : value;
}

}  // namespace

std::string call_text(const std::string& name, const Json& arguments, ToolSyntax syntax) {
  if (syntax == ToolSyntax::xml) return xml_call_text(name, arguments);
  return "<tool_call>\n" + json_text(Json{{"name", name}, {"arguments", arguments}}) +
         "\n</tool_call>";
}

std::string arguments_json(const ParsedCall& call, std::span<const ApiTool> tools) {
  Json arguments = Json::object();
  for (const auto& [name, text] : call.arguments) {
    arguments[name] = value_of(text, type_in(tools, call, name));
  }
  return json_text(arguments);
}

std::string with_tools(const std::string& system, std::span<const ApiTool> tools,
                       ToolSyntax syntax) {
  if (tools.empty()) return system;
  std::vector<std::string> schemas;
  schemas.reserve(tools.size());
  for (const ApiTool& tool : tools) schemas.push_back(tool.schema);
  const std::string shown = policy::tools_prompt(schemas, syntax);
  return system.empty() ? shown : system + "\n\n" + shown;
}

}  // namespace warpsmith::commands
