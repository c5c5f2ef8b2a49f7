// SPDX-License-Identifier: Apache-2.0
// The sandbox program's requests and answers.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "runtime/error_code.hpp"
#include "runtime/submission.hpp"
#include "runtime/task.hpp"
#include "runtime/verdict.hpp"

namespace warpsmith::sandbox {

/// Judge one submission against one task.
struct EvaluateRequest {
  Task task;
  Submission submission;
  Request want = Request::final;

  template <class Archive>
  void serialize(Archive& archive) {
    archive(task, submission, want);
  }
};

/// Run one command line in the shell jail over a workspace folder.
struct ShellRequest {
  std::string workspace;  // folder on the host, mounted read-write at /workspace
  std::string command;    // for /bin/sh -c
  uint32_t timeout_ms = 10'000;
  uint32_t output_bytes = 64U << 10U;  // of standard output and of standard error, each
  uint64_t memory_bytes = 1ULL << 30U;

  template <class Archive>
  void serialize(Archive& archive) {
    archive(workspace, command, timeout_ms, output_bytes, memory_bytes);
  }
};

struct ShellResult {
  int32_t exit_code = -1;  // −1 if a signal ended it
  int32_t signal = 0;
  bool timed_out = false;
  bool out_of_memory = false;
  bool output_cut = false;
  std::string out, err;

  template <class Archive>
  void serialize(Archive& archive) {
    archive(exit_code, signal, timed_out, out_of_memory, output_cut, out, err);
  }
};

/// The state of a sandbox service.
struct HealthReport {
  std::map<std::string, std::string> jail;   // primitive → what is in force in a `run` jail
  std::map<std::string, std::string> facts;  // pid, core, pinned, evaluations, full_jail
  template <class Archive>
  void serialize(Archive& archive) {
    archive(jail, facts);
  }
};

}  // namespace warpsmith::sandbox
