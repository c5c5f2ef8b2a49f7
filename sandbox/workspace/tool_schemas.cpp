// SPDX-License-Identifier: Apache-2.0
#include "sandbox/workspace/tool_schemas.hpp"

#include <algorithm>

namespace warpsmith::sandbox {
namespace {

constexpr const char* background = "run_in_background";

const ToolParameter path_parameter{"path", "string", "File, relative to the workspace."};

std::vector<ToolSchema> file_tools() {
  return {
      {"read",
       "Shows a file.",
       {path_parameter,
        {"offset", "integer", "First line to show, from 1.", false},
        {"limit", "integer", "Number of lines to show.", false}}},
      {"write",
       "Writes a whole file; folders are made as needed.",
       {path_parameter, {"content", "string", "The file's whole text."}}},
      {"edit",
       "Replaces a piece of a file.",
       {path_parameter,
        {"old_string", "string", "Text to replace, exactly as in the file; must occur once."},
        {"new_string", "string", "Text to put there."},
        {"replace_all", "boolean", "Replace every occurrence.", false}}},
      {"multi_edit",
       "Applies several edits to a file in order, all or none.",
       {path_parameter,
        {"edits", "array", "Objects with old_string, new_string and optionally replace_all."}}},
      {"glob",
       "Lists files whose path matches a pattern with *, ? and **.",
       {{"pattern", "string", "For example solution/* or **/*.py."}}},
      {"grep",
       "Shows lines that match a regular expression.",
       {{"pattern", "string", "Perl-compatible regular expression."},
        {"path", "string", "File or folder to search; the whole workspace by default.", false}}},
      {"todo",
       "Keeps your list of things to do; without items it shows the list.",
       {{"items", "string", "The whole list, one per line; start done ones with [x].", false}}},
  };
}

std::vector<ToolSchema> service_tools() {
  return {
      {"bash",
       "Runs a command line in the workspace, without network or GPU. Working directory, exported "
       "variables and functions stay for the next call; /tmp does not.",
       {{"command", "string", "For bash."},
        {background, "boolean", "Starts the command as a job and answers its number.", false}}},
      {"bash_output",
       "Shows what a background job wrote since the last look, and whether it runs.",
       {{"id", "integer", "The job's number."}}},
      {"kill_bash",
       "Ends a background job and shows the rest of its output.",
       {{"id", "integer", "The job's number."}}},
      {"compile", "Compiles the solution as the judge does and shows the first errors.", {}},
      {"verify", "Compiles the solution and checks its outputs on secret inputs.", {}},
      {"profile", "Verifies the solution and times it beside eager and torch.compile.", {}},
      {"submit", "Hands in the solution as it stands. This ends the task.", {}},
  };
}

/// A job is of no use if its output cannot be read.
void leave_out_jobs(std::vector<ToolSchema>& tools) {
  for (ToolSchema& tool : tools) {
    std::erase_if(tool.parameters, [](const ToolParameter& p) { return p.name == background; });
  }
}

std::string names_of(std::span<const ToolSchema> tools) {
  std::string names;
  for (const ToolSchema& tool : tools) names += (names.empty() ? "" : ", ") + tool.name;
  return names;
}

std::string parameters_of(const ToolSchema& tool) {
  std::string names;
  for (const ToolParameter& p : tool.parameters) {
    names += (names.empty() ? "" : ", ") + p.name + (p.required ? "" : "?");
  }
  return names.empty() ? "none" : names;
}

}  // namespace

const std::vector<ToolSchema>& all_tools() {
  static const std::vector<ToolSchema> tools = [] {
    std::vector<ToolSchema> all = file_tools();
    std::ranges::move(service_tools(), std::back_inserter(all));
    return all;
  }();
  return tools;
}

Result<std::vector<ToolSchema>> tools_named(std::span<const std::string> names) {
  for (const std::string& name : names) {
    if (std::ranges::find(all_tools(), name, &ToolSchema::name) == all_tools().end()) {
      return fail(ErrorCode::not_found,
                  "unknown tool `" + name + "`; known are " + names_of(all_tools()));
    }
  }
  std::vector<ToolSchema> tools;
  std::ranges::copy_if(all_tools(), std::back_inserter(tools), [&](const ToolSchema& tool) {
    return std::ranges::find(names, tool.name) != names.end();
  });
  if (std::ranges::find(names, "bash_output") == names.end()) leave_out_jobs(tools);
  return tools;
}

Result<void> check_call(const ParsedCall& call, std::span<const ToolSchema> offered) {
  const auto tool = std::ranges::find(offered, call.name, &ToolSchema::name);
  if (tool == offered.end()) {
    return fail(ErrorCode::invalid_argument,
                "unknown tool `" + call.name + "`; the tools are " + names_of(offered));
  }
  for (const auto& [key, value] : call.arguments) {
    if (std::ranges::find(tool->parameters, key, &ToolParameter::name) != tool->parameters.end()) {
      continue;
    }
    return fail(ErrorCode::invalid_argument, call.name + " has no parameter `" + key +
                                                 "`; its parameters: " + parameters_of(*tool));
  }
  for (const ToolParameter& parameter : tool->parameters) {
    if (!parameter.required || call.arguments.contains(parameter.name)) continue;
    return fail(ErrorCode::invalid_argument, call.name + " needs the parameter `" + parameter.name +
                                                 "`; its parameters: " + parameters_of(*tool));
  }
  return {};
}

bool starts_job(const ParsedCall& call) {
  const auto found = call.arguments.find(background);
  return call.name == "bash" && found != call.arguments.end() && found->second == "true";
}

bool changes_files(const ParsedCall& call) {
  return call.name == "write" || call.name == "edit" || call.name == "multi_edit" ||
         call.name == "bash";
}

bool needs_repeat(const ParsedCall& call) {
  return changes_files(call) || call.name == "read";
}

}  // namespace warpsmith::sandbox
