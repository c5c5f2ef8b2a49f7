// SPDX-License-Identifier: Apache-2.0
#include "sandbox/workspace/tool_box.hpp"

#include <algorithm>

#include "sandbox/workspace/shell_text.hpp"
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

/// Whether the tool works on the one file that `path` names.
bool names_file(const std::string& tool) {
  return tool == "read" || tool == "write" || tool == "edit" || tool == "multi_edit";
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

/// Every failure of the service is the machine's, never the agent's mistake.
Error of_machine(const std::string& what, const Error& error) {
  return {is_infrastructure(error.code) ? error.code : ErrorCode::infrastructure,
          what + ": " + error.message};
}

Result<void> check_command(const std::string& command) {
  if (command.find('\0') == std::string::npos) return {};
  return fail(ErrorCode::invalid_argument, "the command holds a zero byte");
}

JobRequest job_limits(const Workspace& workspace, const ToolBoxConfig& config) {
  JobRequest request;
  request.most_jobs = config.most_jobs;
  request.shell.workspace = workspace.folder().string();
  request.shell.timeout_ms = config.job_lifetime_ms;
  request.shell.output_bytes = config.shell_output_bytes;
  request.shell.memory_bytes = config.shell_memory_bytes;
  return request;
}

}  // namespace

ToolBox::ToolBox(const Workspace& workspace, ToolBoxConfig config)
    : workspace_(workspace), config_(std::move(config)), jobs_(job_limits(workspace, config_)) {}

Result<ToolStep> ToolBox::begin(const ParsedCall& call, ToolServices& services) {
  if (auto resumed = jobs_.resume(services); !resumed) {
    return tl::unexpected(of_machine("jobs", resumed.error()));
  }
  if (auto fine = check_call(call, config_.tools); !fine) {
    return ToolStep{error_text(fine.error()), std::nullopt};
  }
  if (const auto request = request_of(call.name)) return freeze(*request, services);
  auto text = text_of(call, services);
  if (!text && is_infrastructure(text.error().code)) return tl::unexpected(std::move(text.error()));
  if (!text) return ToolStep{error_text(text.error()), std::nullopt};
  return ToolStep{truncate_result(*text, config_.result_bytes), std::nullopt};
}

Result<ToolStep> ToolBox::repeat(const ParsedCall& call, ToolServices& services) {
  if (!starts_job(call)) return begin(call, services);
  if (check_call(call, config_.tools)) jobs_.count_lost();
  return ToolStep{};
}

Result<void> ToolBox::end_jobs(ToolServices& services) {
  return jobs_.forget(services);
}

Result<std::string> ToolBox::text_of(const ParsedCall& call, ToolServices& services) {
  if (call.name == "todo") return todo(call);
  if (starts_job(call)) return start_job(call, services);
  if (call.name == "bash") return shell(call, services);
  if (call.name == "bash_output") return jobs_.look(call, services);
  if (call.name == "kill_bash") return jobs_.end(call, services);
  const FileTool tool = file_tool(call.name);
  if (!tool) return fail(ErrorCode::unsupported, "tool " + call.name + " is offered but not made");
  if (auto known = check_known(call); !known) return tl::unexpected(std::move(known.error()));
  auto text = tool(workspace_, call, config_.files);
  if (text && names_file(call.name))
    known_.insert(relative_path(call.arguments.at("path")).value());
  return text;
}

/// A file that the agent never saw may hold what it needs; it must not write over it unread.
Result<void> ToolBox::check_known(const ParsedCall& call) const {
  if (!names_file(call.name) || call.name == "read") return {};
  const auto path = relative_path(call.arguments.at("path"));
  if (!path || known_.contains(*path) || workspace_.is_given(*path)) return {};
  if (!workspace_.files().has_file(*path)) return {};
  return fail(ErrorCode::invalid_argument, *path + " exists and was not read; read it first");
}

Result<std::string> ToolBox::shell(const ParsedCall& call, ToolServices& services) const {
  ShellRequest request;
  request.workspace = workspace_.folder().string();
  request.command = call.arguments.at("command");
  if (auto fine = check_command(request.command); !fine) return tl::unexpected(fine.error());
  request.timeout_ms = config_.shell_timeout_ms;
  request.output_bytes = config_.shell_output_bytes;
  request.memory_bytes = config_.shell_memory_bytes;
  const auto result = services.shell(request);
  if (result) return shell_text(*result);
  return tl::unexpected(of_machine("bash", result.error()));
}

Result<std::string> ToolBox::start_job(const ParsedCall& call, ToolServices& services) {
  const std::string& command = call.arguments.at("command");
  if (auto fine = check_command(command); !fine) return tl::unexpected(fine.error());
  return jobs_.start(command, services);
}

std::string ToolBox::todo(const ParsedCall& call) {
  const auto items = call.arguments.find("items");
  if (items != call.arguments.end()) todo_ = items->second.substr(0, max_todo_bytes);
  if (todo_.empty()) return "the list is empty";
  return items == call.arguments.end() ? todo_
                                       : "noted " + std::to_string(line_count(todo_)) + " items";
}

/// Jobs of this trajectory rest while its submission is measured.
Result<ToolStep> ToolBox::freeze(Request request, ToolServices& services) {
  if (auto paused = jobs_.pause(services); !paused) {
    return tl::unexpected(of_machine("jobs", paused.error()));
  }

  auto files = freeze_solution(workspace_.files(), config_.required_file, config_.solution);
  if (!files && is_infrastructure(files.error().code)) {
    return tl::unexpected(std::move(files.error()));
  }
  if (!files) return ToolStep{error_text(files.error()), std::nullopt};
  Submission submission{config_.task_id, config_.contract, std::move(*files)};
  return ToolStep{{}, JudgeNeeded{std::move(submission), request}};
}

}  // namespace warpsmith::sandbox
