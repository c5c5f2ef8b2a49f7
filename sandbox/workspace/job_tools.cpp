// SPDX-License-Identifier: Apache-2.0
#include "sandbox/workspace/job_tools.hpp"

#include <algorithm>
#include <charconv>

#include "sandbox/workspace/shell_text.hpp"

namespace warpsmith::sandbox {
namespace {

/// A failure of the service is the machine's, whatever its code: never the agent's mistake.
Result<JobReport> of_machine(Result<JobReport> report) {
  if (report) return report;
  Error& error = report.error();
  const bool reads_as_mistake =
      error.code == ErrorCode::not_found || error.code == ErrorCode::invalid_argument ||
      error.code == ErrorCode::parse_failed || error.code == ErrorCode::capacity;
  return fail(reads_as_mistake ? ErrorCode::infrastructure : error.code,
              "background job: " + error.message);
}

std::string named(uint32_t id) {
  return "job " + std::to_string(id);
}

Result<uint32_t> id_of(const ParsedCall& call) {
  const std::string& text = call.arguments.at("id");
  uint32_t id = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), id);
  if (error == std::errc{} && end == text.data() + text.size()) return id;
  return fail(ErrorCode::invalid_argument, "id: expected the number of a job, got `" + text + "`");
}

/// The output, then the state in a line of its own.
std::string text_of(uint32_t id, const JobReport& report) {
  const bool over = report.state == JobState::over;
  std::string text = over ? shell_text(report.result) : output_text(report.result);
  if (!text.empty() && text.back() != '\n') text += '\n';
  return text + '[' + named(id) + (over ? " is over]" : " is running]");
}

}  // namespace

bool JobTools::any_running() const {
  return std::ranges::any_of(jobs_, [](const auto& job) { return job.second == Known::running; });
}

Result<JobReport> JobTools::tell(JobAction action, uint32_t id, ToolServices& services) const {
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
  const auto report = of_machine(services.job(request));
  if (!report) return tl::unexpected(report.error());
  if (report->state == JobState::refused) {
    return fail(ErrorCode::invalid_argument,
                "there are " + std::to_string(limits_.most_jobs) +
                    " jobs already that run or have output to read; read one with bash_output or "
                    "end one with kill_bash");
  }
  jobs_[id] = Known::running;
  return "started " + named(id) + "; bash_output shows what it writes";
}

void JobTools::count_lost() {
  jobs_[static_cast<uint32_t>(jobs_.size() + 1)] = Known::lost;
}

Result<std::string> JobTools::ask(JobAction action, const ParsedCall& call,
                                  ToolServices& services) {
  const auto id = id_of(call);
  if (!id) return tl::unexpected(id.error());
  const auto found = jobs_.find(*id);
  if (found == jobs_.end()) {
    return fail(ErrorCode::invalid_argument, "there is no " + named(*id));
  }
  Known& known = found->second;
  if (known == Known::running) {
    const auto report = tell(action, *id, services);
    if (!report) return tl::unexpected(report.error());
    if (report->state == JobState::over) known = Known::read_to_its_end;
    if (report->state != JobState::unknown) return text_of(*id, *report);
    known = Known::lost;
  }
  if (known == Known::read_to_its_end) return named(*id) + " is over, and its output was shown";
  return named(*id) + " is gone: its sandbox was restarted; what it wrote since may be missing";
}

Result<std::string> JobTools::look(const ParsedCall& call, ToolServices& services) {
  return ask(JobAction::look, call, services);
}

Result<std::string> JobTools::end(const ParsedCall& call, ToolServices& services) {
  return ask(JobAction::end, call, services);
}

Result<void> JobTools::pause(ToolServices& services) {
  if (paused_ || !any_running()) return {};
  if (auto done = tell(JobAction::pause, 0, services); !done) return tl::unexpected(done.error());
  paused_ = true;
  return {};
}

Result<void> JobTools::resume(ToolServices& services) {
  if (!paused_) return {};
  if (auto done = tell(JobAction::resume, 0, services); !done) return tl::unexpected(done.error());
  paused_ = false;
  return {};
}

Result<void> JobTools::forget(ToolServices& services) {
  if (!any_running()) return {};
  if (auto done = tell(JobAction::forget, 0, services); !done) return tl::unexpected(done.error());
  jobs_.clear();
  return {};
}

}  // namespace warpsmith::sandbox
