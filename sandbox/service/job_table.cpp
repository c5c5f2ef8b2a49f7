// SPDX-License-Identifier: Apache-2.0
#include "sandbox/service/job_table.hpp"

#include <algorithm>

#include "sandbox/jail/jail_remedy.hpp"
#include "sandbox/service/shell.hpp"

namespace warpsmith::sandbox {
namespace {

using std::chrono::milliseconds;

constexpr std::chrono::seconds pause_budget{5};  // for all jobs of a workspace

ShellResult how_it_ended(JailExit exit) {
  if (exit.never_began) exit.err = "the job did not start: " + jail_not_made(exit.err).message;
  return result_of(std::move(exit));
}

}  // namespace

Result<JobReport> JobTable::carry_out(const JobRequest& request) {
  const Place place{request.shell.workspace, request.id};
  switch (request.action) {
    case JobAction::start:
      return start(request);
    case JobAction::look:
      return look(place);
    case JobAction::end:
      return end(place);
    case JobAction::pause:
      pause(place.first);
      break;
    case JobAction::resume:
      resume(place.first);
      break;
    case JobAction::forget:
      forget(place.first);
      break;
  }
  return JobReport{};
}

size_t JobTable::count(const std::string& workspace) const {
  return static_cast<size_t>(std::ranges::count_if(
      jobs_, [&](const auto& entry) { return entry.first.first == workspace; }));
}

Result<JobReport> JobTable::start(const JobRequest& request) {
  const Place place{request.shell.workspace, request.id};
  if (count(place.first) >= request.most_jobs || jobs_.size() >= max_jobs) {
    return JobReport{JobState::refused, {}};
  }
  if (jobs_.contains(place)) {
    return fail(ErrorCode::already_exists, "job " + std::to_string(request.id) + " exists");
  }
  auto jail = start_command(request.shell, cgroup_required_, ShellState::read);
  if (!jail) return tl::unexpected(std::move(jail.error()));
  const Deadline end = Deadline::after(milliseconds{request.shell.timeout_ms});
  jobs_.emplace(place, Job{std::move(*jail), end, false, {}});
  return JobReport{JobState::running, {}};
}

JobReport JobTable::look(const Place& place) {
  const auto found = jobs_.find(place);
  if (found == jobs_.end()) return {};
  tend(place.first, found->second);
  if (found->second.over) {
    JobReport report{JobState::over, std::move(found->second.result)};
    jobs_.erase(found);
    return report;
  }
  ChildText text = found->second.jail->take_output();
  JobReport report{JobState::running, {}};
  report.result.out = std::move(text.out);
  report.result.err = std::move(text.err);
  report.result.output_cut = text.cut;
  return report;
}

JobReport JobTable::end(const Place& place) {
  const auto found = jobs_.find(place);
  if (found == jobs_.end()) return {};
  Job& job = found->second;
  if (!job.over) job.result = how_it_ended(job.jail->kill());
  JobReport report{JobState::over, std::move(job.result)};
  jobs_.erase(found);
  return report;
}

/// A job that cannot be stopped is killed: it would share the machine with a measurement.
void JobTable::pause(const std::string& workspace) {
  const Deadline deadline = Deadline::after(pause_budget);
  for (auto& [place, job] : jobs_) {
    if (place.first != workspace || job.over) continue;
    const auto stopped = job.jail->stop_all(deadline);
    if (stopped) continue;
    job.result = how_it_ended(job.jail->kill());
    job.result.err += "\nkilled before a measurement: " + stopped.error().message + '\n';
    job.over = true;
  }
}

void JobTable::resume(const std::string& workspace) {
  for (auto& [place, job] : jobs_) {
    if (place.first == workspace && !job.over) job.jail->resume_all();
  }
}

void JobTable::forget(const std::string& workspace) {
  std::erase_if(jobs_, [&](const auto& entry) { return entry.first.first == workspace; });
}

void JobTable::tend() {
  for (auto& [place, job] : jobs_) tend(place.first, job);
}

void JobTable::tend(const std::string& workspace, Job& job) {
  if (job.over) return;
  const bool ended = job.jail->finished(milliseconds{1});  // with 0 it reads no output
  const bool late = !ended && job.end.passed();
  const bool grown = !ended && !late && is_beyond_limits(workspace, job.jail->pid());
  if (!ended && !late && !grown) return;
  job.result = how_it_ended(job.jail->kill());
  job.result.timed_out = late;
  if (grown) job.result.err += grown_text;
  job.over = true;
}

}  // namespace warpsmith::sandbox
