// SPDX-License-Identifier: Apache-2.0
#include "sandbox/workspace/tool_box.hpp"

#include <algorithm>

#include "sandbox/workspace/text_edit.hpp"
#include "sandbox/workspace/tool_schemas.hpp"
#include "sandbox/workspace/truncate.hpp"

namespace warpsmith::sandbox {
namespace {

constexpr size_t max_todo_bytes = 4096;

std::optional<Request> request_of(const std::string& tool) {
  if (tool == "compile") return Request::compile;
  if (tool == "verify") return Request::verify;
  if (tool == "profile") return Request::profile;
  if (tool == "submit") return Request::final;
  return std::nullopt;
}

using FileTool = Result<std::string> (*)(const Workspace&, const ParsedCall&, FileLimits);

FileTool file_tool(const std::string& name) {
  if (name == "read") return read_tool;
  if (name == "write") return write_tool;
  if (name == "edit") return edit_tool;
  if (name == "multi_edit") return multi_edit_tool;
  if (name == "glob") return glob_tool;
  return name == "grep" ? grep_tool : nullptr;
}

/// Failures of the machine. All other errors are mistakes of the agent and become text for it.
bool is_infrastructure(ErrorCode code) {
  switch (code) {
    case ErrorCode::not_found:
    case ErrorCode::invalid_argument:
    case ErrorCode::parse_failed:
    case ErrorCode::capacity:
      return false;
    default:
      return true;
  }
}

std::string error_text(const Error& error) {
  return "error: " + error.message;
}

}  // namespace

ToolBox::ToolBox(const Workspace& workspace, ToolBoxConfig config)
    : workspace_(workspace), config_(std::move(config)) {}

Result<ToolStep> ToolBox::begin(const ParsedCall& call, ToolServices& services) {
  if (auto fine = check_call(call, config_.tools); !fine) {
    return ToolStep{error_text(fine.error()), std::nullopt};
  }
  if (const auto request = request_of(call.name)) return freeze(*request);
  auto text = text_of(call, services);
  if (!text && is_infrastructure(text.error().code)) return tl::unexpected(std::move(text.error()));
  if (!text) return ToolStep{error_text(text.error()), std::nullopt};
  return ToolStep{truncate_result(*text, config_.result_bytes), std::nullopt};
}

Result<std::string> ToolBox::text_of(const ParsedCall& call, ToolServices& services) {
  if (call.name == "todo") return todo(call);
  if (call.name == "bash") return shell(call, services);
  const FileTool tool = file_tool(call.name);
  if (!tool) return fail(ErrorCode::unsupported, "tool " + call.name + " is offered but not made");
  return tool(workspace_, call, config_.files);
}

Result<std::string> ToolBox::shell(const ParsedCall& call, ToolServices& services) const {
  ShellRequest request;
  request.workspace = workspace_.folder().string();
  request.command = call.arguments.at("command");
  request.timeout_ms = config_.shell_timeout_ms;
  request.output_bytes = config_.shell_output_bytes;
  request.memory_bytes = config_.shell_memory_bytes;
  if (request.command.find('\0') != std::string::npos) {
    return fail(ErrorCode::invalid_argument, "the command holds a zero byte");
  }
  const auto result = services.shell(request);
  if (result) return shell_text(*result);
  // Every failure of the service is the machine's, never the agent's mistake.
  const ErrorCode code = result.error().code;
  return fail(is_infrastructure(code) ? code : ErrorCode::infrastructure,
              "bash: " + result.error().message);
}

std::string ToolBox::todo(const ParsedCall& call) {
  const auto items = call.arguments.find("items");
  if (items != call.arguments.end()) todo_ = items->second.substr(0, max_todo_bytes);
  if (todo_.empty()) return "the list is empty";
  return items == call.arguments.end() ? todo_
                                       : "noted " + std::to_string(line_count(todo_)) + " items";
}

Result<ToolStep> ToolBox::freeze(Request request) const {
  auto files = freeze_solution(workspace_.files(), config_.required_file, config_.solution);
  if (!files && is_infrastructure(files.error().code)) {
    return tl::unexpected(std::move(files.error()));
  }
  if (!files) return ToolStep{error_text(files.error()), std::nullopt};
  Submission submission{config_.task_id, config_.contract, std::move(*files)};
  return ToolStep{{}, JudgeNeeded{std::move(submission), request}};
}

std::string shell_text(const ShellResult& result) {
  std::string text = result.out;
  const auto add = [&text](const std::string& more) {
    if (!text.empty() && text.back() != '\n') text += '\n';
    text += more;
  };
  if (!result.err.empty()) add(result.err);
  if (result.output_cut) add("[output cut]");
  if (result.timed_out) {
    add("[timed out]");
  } else if (result.out_of_memory) {
    add("[out of memory]");
  } else if (result.signal != 0) {
    add("[ended by signal " + std::to_string(result.signal) + "]");
  } else if (result.exit_code != 0) {
    add("[exit code " + std::to_string(result.exit_code) + "]");
  }
  return text.empty() ? "(no output)" : text;
}

}  // namespace warpsmith::sandbox
