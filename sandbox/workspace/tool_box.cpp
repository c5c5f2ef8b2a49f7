// SPDX-License-Identifier: Apache-2.0
#include "sandbox/workspace/tool_box.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "sandbox/workspace/file_text.hpp"
#include "sandbox/workspace/tool_schemas.hpp"
#include "sandbox/workspace/tool_text.hpp"

namespace warpsmith::sandbox {
namespace {

std::string named(uint32_t id) {
  return fmt::format("job {}", id);
}

Result<uint32_t> id_of(const ParsedCall& call) {
  const std::string& text = call.arguments.at("id");
  uint32_t id = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), id);
  if (error == std::errc{} && end == text.data() + text.size()) return id;
  return fail(ErrorCode::invalid_argument, "id: expected the number of a job, got `" + text + "`");
}

/// The output, then the state on a separate line.
std::string text_of(uint32_t id, const JobReport& report) {
  const bool over = report.state == JobState::over;
  std::string text = over ? shell_text(report.result) : output_text(report.result);
  if (!text.empty() && text.back() != '\n') text += '\n';
  return text + '[' + named(id) + (over ? " is over]" : " is running]");
}

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

Result<JobReport> of_machine(Result<JobReport> report) {
  if (report) return report;
  return tl::unexpected(of_machine("background job", report.error()));
}

Result<void> check_command(const std::string& command) {
  if (command.find('\0') == std::string::npos) return {};
  return fail(ErrorCode::invalid_argument, "the command holds a zero byte");
}

/// `limit`: the wall time of `command`.
ShellRequest shell_request(const Workspace& workspace, std::string command,
                           std::chrono::milliseconds limit, const ToolExecutorConfig& shell) {
  return {.workspace = workspace.folder().string(),
          .command = std::move(command),
          .timeout_ms = static_cast<uint32_t>(limit.count()),
          .output_bytes = static_cast<uint32_t>(shell.shell_output_bytes),
          .memory_bytes = static_cast<uint64_t>(shell.shell_memory_bytes)};
}

JobRequest job_limits(const Workspace& workspace, const ToolExecutorConfig& shell) {
  return {.most_jobs = static_cast<uint32_t>(shell.shell_jobs),
          .shell = shell_request(workspace, {}, shell.job_lifetime, shell)};
}

}  // namespace

bool JobTools::any_running() const {
  return std::ranges::any_of(jobs_, [](const auto& job) { return job.second == Known::running; });
}

Result<JobReport> JobTools::send(JobAction action, uint32_t id, ToolServices& services) const {
  JobRequest request = limits_;
  request.action = action;
  request.id = id;
  return of_machine(services.job(request));
}

Result<std::string> JobTools::start(const std::string& command, ToolServices& services) {
  const auto id = static_cast<uint32_t>(jobs_.size() + 1);
  JobRequest request = limits_;
  request.action = JobAction::start;
  request.id = id;
  request.shell.command = command;
  TRY(const auto report, of_machine(services.job(request)));
  if (report.state == JobState::refused) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("there are {} jobs already that run or have output to read; read one "
                            "with bash_output or end one with kill_bash",
                            limits_.most_jobs));
  }
  jobs_[id] = Known::running;
  return "started " + named(id) + "; bash_output shows what it writes";
}

void JobTools::count_lost() {
  jobs_[static_cast<uint32_t>(jobs_.size() + 1)] = Known::lost;
}

Result<std::string> JobTools::ask(JobAction action, const ParsedCall& call,
                                  ToolServices& services) {
  TRY(const auto id, id_of(call));
  const auto found = jobs_.find(id);
  if (found == jobs_.end()) {
    return fail(ErrorCode::invalid_argument, "there is no " + named(id));
  }
  Known& known = found->second;
  if (known == Known::running) {
    TRY(const auto report, send(action, id, services));
    if (report.state == JobState::over) known = Known::shown;
    if (report.state != JobState::unknown) return text_of(id, report);
    known = Known::lost;
  }
  if (known == Known::shown) return named(id) + " is over, and its output was shown";
  return named(id) + " is gone: its sandbox was restarted; what it wrote since may be missing";
}

Result<std::string> JobTools::look(const ParsedCall& call, ToolServices& services) {
  return ask(JobAction::look, call, services);
}

Result<std::string> JobTools::end(const ParsedCall& call, ToolServices& services) {
  return ask(JobAction::end, call, services);
}

Result<void> JobTools::pause(ToolServices& services) {
  if (paused_ || !any_running()) return {};
  TRY_VOID(send(JobAction::pause, 0, services));
  paused_ = true;
  return {};
}

Result<void> JobTools::resume(ToolServices& services) {
  if (!paused_) return {};
  TRY_VOID(send(JobAction::resume, 0, services));
  paused_ = false;
  return {};
}

Result<void> JobTools::forget(ToolServices& services) {
  if (!any_running()) return {};
  TRY_VOID(send(JobAction::forget, 0, services));
  jobs_.clear();
  return {};
}

ToolBox::ToolBox(const Workspace& workspace, ToolBoxConfig config)
    : workspace_(workspace),
      config_(std::move(config)),
      jobs_(job_limits(workspace, config_.shell)) {}

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
  TRY_VOID(check_known(call));
  auto text = tool(workspace_, call, config_.files);
  if (text && names_file(call.name))
    known_.insert(relative_path(call.arguments.at("path")).value());
  return text;
}

/// A file that the agent never saw may contain what it needs, so it must not overwrite it unread.
Result<void> ToolBox::check_known(const ParsedCall& call) const {
  if (!names_file(call.name) || call.name == "read") return {};
  const auto path = relative_path(call.arguments.at("path"));
  if (!path || known_.contains(*path) || workspace_.is_given(*path)) return {};
  if (!workspace_.files().has_file(*path)) return {};
  return fail(ErrorCode::invalid_argument, *path + " exists and was not read; read it first");
}

Result<std::string> ToolBox::shell(const ParsedCall& call, ToolServices& services) const {
  const std::string& command = call.arguments.at("command");
  TRY_VOID(check_command(command));
  const ToolExecutorConfig& limits = config_.shell;
  const auto result =
      services.shell(shell_request(workspace_, command, limits.shell_timeout, limits));
  if (result) return shell_text(*result);
  return tl::unexpected(of_machine("bash", result.error()));
}

Result<std::string> ToolBox::start_job(const ParsedCall& call, ToolServices& services) {
  const std::string& command = call.arguments.at("command");
  TRY_VOID(check_command(command));
  return jobs_.start(command, services);
}

std::string ToolBox::todo(const ParsedCall& call) {
  const auto items = call.arguments.find("items");
  if (items != call.arguments.end()) todo_ = items->second.substr(0, max_todo_bytes);
  if (todo_.empty()) return "the list is empty";
  return items == call.arguments.end() ? todo_ : fmt::format("noted {} items", line_count(todo_));
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
