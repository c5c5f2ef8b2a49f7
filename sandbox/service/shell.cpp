// SPDX-License-Identifier: Apache-2.0
#include "sandbox/service/shell.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <set>
#include <vector>

#include "sandbox/jail/bubblewrap.hpp"
#include "sandbox/jail/presets.hpp"
#include "sandbox/jail/process_state.hpp"

namespace warpsmith::sandbox {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;

// Both lines are one line each, so that the shell's messages count the command's own lines. The
// state is only ever sourced inside the jail.
constexpr const char* restore_state =
    "command_=$1; shift; "
    "[ -f /workspace/.shell_state ] && . /workspace/.shell_state; cd -- \"$PWD\" || cd "
    "/workspace; ";

/// Runs when the shell ends. A call that is killed does not reach this and leaves the state as it
/// was.
constexpr const char* keep_state =
    "trap '{ status_=$?; set +eux; } 2>/dev/null; "
    "state_=$(export -p; declare -f); "
    "if [ ${#state_} -gt 65536 ]; then echo \"bash: the state of the shell was not kept: "
    "exported variables and functions: expected at most 65536 characters, got ${#state_}; "
    "unset the large ones\" >&2; "
    "else printf \"%s\\n\" \"$state_\" >/workspace/.shell_state.new && "
    "/bin/mv /workspace/.shell_state.new /workspace/.shell_state; fi; exit $status_' EXIT; ";

/// A job runs while later calls do, so it gets the state but never writes it.
std::string script_of(ShellState state) {
  std::string script = restore_state;
  if (state == ShellState::kept) script += keep_state;
  return script + "eval \"$command_\"";
}

JailSpec jail_of(const ShellRequest& request, bool cgroup_required, ShellState state) {
  JailSpec spec = shell_jail(request.workspace);
  spec.argv = {"/bin/bash", "-c", script_of(state), "/bin/bash", request.command};
  spec.limits.output_bytes = request.output_bytes;
  spec.limits.memory_bytes = request.memory_bytes;
  spec.limits.cgroup_required = cgroup_required;
  return spec;
}

/// Ends the output of a command that was killed for it.
constexpr const char* grown_text =
    "\nthe workspace grew beyond its limit, or cannot be read; the command was killed\n";

bool gone(const std::error_code& error) {
  return error == std::errc::no_such_file_or_directory;
}

/// The status of a path; nothing if it does not exist.
std::optional<struct stat> status_of(const fs::path& path) {
  struct stat status{};
  if (::stat(path.c_str(), &status) != 0) return std::nullopt;
  return status;
}

/// Files that a jail's processes hold open although they are unlinked.
class NamelessFiles {
 public:
  /// Their size on one device.
  uint64_t bytes(pid_t jailed, dev_t device) {
    for (const pid_t pid : processes_in_namespace_of(jailed)) {
      add_files_of(fs::path("/proc") / std::to_string(pid), device);
    }
    return bytes_;
  }

 private:
  void add_files_of(const fs::path& process, dev_t device) {
    std::error_code error;
    for (fs::directory_iterator fd(process / "fd", error); !error && fd != fs::directory_iterator();
         fd.increment(error)) {
      const auto file = status_of(fd->path());
      if (!file || !S_ISREG(file->st_mode) || file->st_nlink > 0 || file->st_dev != device)
        continue;
      if (seen_.insert(file->st_ino).second) bytes_ += static_cast<uint64_t>(file->st_size);
    }
  }

  std::set<ino_t> seen_;
  uint64_t bytes_ = 0;
};

/// Measures a workspace with one folder open at a time, so a deep tree needs no more descriptors.
class Growth {
 public:
  bool beyond_limits(const std::string& folder, pid_t jailed) {
    if (const auto there = status_of(folder)) bytes_ = NamelessFiles().bytes(jailed, there->st_dev);
    waiting_ = {folder};
    while (!waiting_.empty()) {
      const fs::path next = std::move(waiting_.back());
      waiting_.pop_back();
      if (!add(next)) return true;
    }
    return bytes_ > max_workspace_bytes;
  }

 private:
  /// False if a limit is exceeded or the folder cannot be read.
  bool add(const fs::path& folder) {
    std::error_code error;
    fs::directory_iterator entries(folder, error);
    for (; !error && entries != fs::directory_iterator(); entries.increment(error)) {
      std::error_code unseen;
      const fs::file_type type = entries->symlink_status(unseen).type();
      if (type == fs::file_type::directory) waiting_.push_back(entries->path());
      if (type == fs::file_type::regular) {
        const uint64_t size = entries->file_size(unseen);
        if (!unseen) bytes_ += size;
      }
      if (unseen && !gone(unseen)) return false;
      if (++entries_ > max_workspace_entries || bytes_ > max_workspace_bytes) return false;
    }
    return !error || gone(error);
  }

  std::vector<fs::path> waiting_;
  uint64_t bytes_ = 0;
  uint64_t entries_ = 0;
};

/// True if the folder, with the files that the processes of the jail with process `jailed` hold
/// open there unlinked, exceeds the limits. A folder that cannot be read exceeds them too, or a
/// command could hide its files. An entry that vanishes meanwhile counts as nothing.
bool is_beyond_limits(const std::string& workspace, pid_t jailed) {
  return Growth().beyond_limits(workspace, jailed);
}

ShellResult result_of(JailExit exit) {
  return {exit.exit_code,  exit.signal,         exit.timed_out,     exit.out_of_memory,
          exit.output_cut, std::move(exit.out), std::move(exit.err)};
}

constexpr std::chrono::seconds pause_budget{5};  // for all jobs of a workspace

ShellResult job_result(JailExit exit) {
  if (exit.never_began) exit.err = "the job did not start: " + jail_not_made(exit.err).message;
  return result_of(std::move(exit));
}

}  // namespace

Result<std::unique_ptr<JailedProcess>> start_command(const ShellRequest& request,
                                                     bool cgroup_required, ShellState state) {
  std::error_code error;
  if (!fs::path(request.workspace).is_absolute() || !fs::is_directory(request.workspace, error)) {
    return fail(ErrorCode::invalid_argument,
                "shell: the workspace " + request.workspace + " is not an absolute folder");
  }
  if (!fs::exists("/bin/bash", error)) {
    return fail(ErrorCode::unsupported,
                "shell: expected /bin/bash on this machine, found none; install bash");
  }
  return JailedProcess::start(jail_of(request, cgroup_required, state));
}

Result<ShellResult> run_shell(const ShellRequest& request, Deadline deadline, bool cgroup_required,
                              const std::function<void()>& meanwhile) {
  TRY(auto jail, start_command(request, cgroup_required, ShellState::kept));
  const Deadline own = Deadline::after(milliseconds{request.timeout_ms});
  const Deadline end = own.at() < deadline.at() ? own : deadline;
  while (!jail->finished(std::min(milliseconds{100}, end.left())) && !end.passed()) {
    if (meanwhile) meanwhile();
    if (!is_beyond_limits(request.workspace, jail->pid())) continue;
    ShellResult result = result_of(jail->kill());
    result.err += grown_text;
    return result;
  }
  TRY(auto exit, jail->wait(end));
  if (exit.never_began) return fail("shell", jail_not_made(exit.err));
  return result_of(std::move(exit));
}

Result<JobReport> JobTable::handle(const JobRequest& request) {
  const JobKey key{request.shell.workspace, request.id};
  switch (request.action) {
    case JobAction::start:
      return start(request);
    case JobAction::look:
      return look(key);
    case JobAction::end:
      return end(key);
    case JobAction::pause:
      pause(key.first);
      break;
    case JobAction::resume:
      resume(key.first);
      break;
    case JobAction::forget:
      forget(key.first);
      break;
  }
  return JobReport{};
}

size_t JobTable::count(const std::string& workspace) const {
  return static_cast<size_t>(std::ranges::count_if(
      jobs_, [&](const auto& entry) { return entry.first.first == workspace; }));
}

Result<JobReport> JobTable::start(const JobRequest& request) {
  const JobKey key{request.shell.workspace, request.id};
  if (count(key.first) >= request.most_jobs || jobs_.size() >= max_jobs) {
    return JobReport{JobState::refused, {}};
  }
  if (jobs_.contains(key)) {
    return fail(ErrorCode::already_exists, fmt::format("job {} exists", request.id));
  }
  TRY(auto jail, start_command(request.shell, cgroup_required_, ShellState::read));
  const Deadline end = Deadline::after(milliseconds{request.shell.timeout_ms});
  jobs_.emplace(key, Job{std::move(jail), end, false, {}});
  return JobReport{JobState::running, {}};
}

JobReport JobTable::look(const JobKey& key) {
  const auto found = jobs_.find(key);
  if (found == jobs_.end()) return {};
  poll(key.first, found->second);
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

JobReport JobTable::end(const JobKey& key) {
  const auto found = jobs_.find(key);
  if (found == jobs_.end()) return {};
  Job& job = found->second;
  if (!job.over) job.result = job_result(job.jail->kill());
  JobReport report{JobState::over, std::move(job.result)};
  jobs_.erase(found);
  return report;
}

/// A job that cannot be stopped is killed: it would share the machine with a measurement.
void JobTable::pause(const std::string& workspace) {
  const Deadline deadline = Deadline::after(pause_budget);
  for (auto& [key, job] : jobs_) {
    if (key.first != workspace || job.over) continue;
    const auto stopped = job.jail->stop_all(deadline);
    if (stopped) continue;
    job.result = job_result(job.jail->kill());
    job.result.err += "\nkilled before a measurement: " + stopped.error().message + '\n';
    job.over = true;
  }
}

void JobTable::resume(const std::string& workspace) {
  for (auto& [key, job] : jobs_) {
    if (key.first == workspace && !job.over) job.jail->resume_all();
  }
}

void JobTable::forget(const std::string& workspace) {
  std::erase_if(jobs_, [&](const auto& entry) { return entry.first.first == workspace; });
}

void JobTable::poll() {
  for (auto& [key, job] : jobs_) poll(key.first, job);
}

void JobTable::poll(const std::string& workspace, Job& job) {
  if (job.over) return;
  const bool ended = job.jail->finished(milliseconds{1});  // with 0 it reads no output
  const bool late = !ended && job.end.passed();
  const bool grown = !ended && !late && is_beyond_limits(workspace, job.jail->pid());
  if (!ended && !late && !grown) return;
  job.result = job_result(job.jail->kill());
  job.result.timed_out = late;
  if (grown) job.result.err += grown_text;
  job.over = true;
}

}  // namespace warpsmith::sandbox
