// SPDX-License-Identifier: Apache-2.0
// The sandbox program's requests, lines of progress, and answers.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "runtime/describe.hpp"
#include "runtime/error_code.hpp"
#include "runtime/result.hpp"
#include "runtime/submission.hpp"
#include "runtime/task.hpp"
#include "runtime/verdict.hpp"

namespace warpsmith::sandbox {

/// Receives progress of slow work: one line at a time, e.g. "softmax_rows: timing eager and
/// torch.compile". May be empty.
using Progress = std::function<void(const std::string&)>;

/// Judge one submission against one task.
struct EvaluateRequest {
  Task task;
  Submission submission;
  Request want = Request::final;

  WARPSMITH_RECORD(task, submission, want)
};

/// Run one command line in the shell jail over a workspace folder.
struct ShellRequest {
  std::string workspace;  // folder on the host, mounted read-write at /workspace
  std::string command;    // for bash
  uint32_t timeout_ms = 0;
  uint32_t output_bytes = 0;  // of standard output and of standard error, each
  uint64_t memory_bytes = 0;

  WARPSMITH_RECORD(workspace, command, timeout_ms, output_bytes, memory_bytes)
};

struct ShellResult {
  int32_t exit_code = -1;  // −1 if a signal ended it
  int32_t signal = 0;
  bool timed_out = false;
  bool out_of_memory = false;
  bool output_cut = false;
  std::string out, err;

  WARPSMITH_RECORD(exit_code, signal, timed_out, out_of_memory, output_cut, out, err)
};

enum class JobAction : uint8_t {
  start,   // `shell.command` as job `id`
  look,    // the output since the last look, and the state
  end,     // the same, after the job was killed
  pause,   // stops every job of the workspace, so that they disturb no measurement
  resume,  // continues them
  forget,  // kills every job of the workspace, before its folder goes
};
inline constexpr uint8_t job_actions = 6;

/// Commands that run in the background while others do, in the shell jail over a workspace folder.
struct JobRequest {
  JobAction action = JobAction::look;
  uint32_t id = 0;         // within the workspace
  uint32_t most_jobs = 0;  // of the workspace, that run or have output left to read
  ShellRequest shell;      // its time-out is the job's lifetime; only start has a command

  WARPSMITH_RECORD(action, id, most_jobs, shell)
  Result<void> validate() const {
    if (static_cast<uint8_t>(action) < job_actions) return {};
    return fail(ErrorCode::parse_failed,
                fmt::format("job request: unknown action {}", static_cast<int>(action)));
  }
};

enum class JobState : uint8_t {
  running,
  over,     // `result` says how it ended; nothing of it is kept
  unknown,  // no such job: it was read to its end, or the service is another one
  refused,  // as many jobs as there may be
};
inline constexpr uint8_t job_states = 4;

struct JobReport {
  JobState state = JobState::unknown;
  ShellResult result;  // output since the last look; how it ended, if it is over

  WARPSMITH_RECORD(state, result)
  Result<void> validate() const {
    if (static_cast<uint8_t>(state) < job_states) return {};
    return fail(ErrorCode::parse_failed,
                fmt::format("job report: unknown state {}", static_cast<int>(state)));
  }
};

/// The state of a sandbox service.
struct HealthReport {
  std::map<std::string, std::string> jail;   // primitive → what is in force in a `run` jail
  std::map<std::string, std::string> facts;  // pid, core, pinned, evaluations, full_jail
  WARPSMITH_RECORD(jail, facts)
};

}  // namespace warpsmith::sandbox
