// SPDX-License-Identifier: Apache-2.0
// A candidate of contract `host`: its own Python process with torch, in a jail, on one GPU or on
// the CPU.
//
// The process waits warm and serves one candidate. Before any code of the candidate is loaded, the
// process puts its filter in force: it refuses programs, processes, sockets and signals to others,
// and allows threads (the CUDA driver and torch need them; a SIGSTOP stops them all). Then whole
// calls of our own code are timed: the reveal, the ring, a copy of outputs of that size, `done`.
// Their median is subtracted from the candidate's calls. A candidate that finds the outputs in its
// memory and writes them in place saves that copy, so the record holds the copy's share.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "runtime/clock.hpp"
#include "runtime/process/frame_socket.hpp"
#include "sandbox/commit/contestant.hpp"
#include "sandbox/contract/host/host_submission.hpp"
#include "sandbox/device/gpu_access.hpp"
#include "sandbox/judge/stage.hpp"

namespace warpsmith::sandbox {

struct HostRunnerOptions {
  std::string python;  // interpreter that holds torch
  std::string folder;  // sandbox/reference/worker: host_runner.py lies beside the worker
  std::optional<GpuAccess> gpu;
  std::optional<int> core;
  bool cgroup_required = false;
};

struct HostContestantSpec {
  const HostSubmission& submission;
  const std::string& artefact;  // bytes, of kind `submission.artefact`
  const Task& task;             // the candidate's process calls its get_init_inputs
  const TaskSignature& signature;
  CandidateStage& stage;
  int calibration_calls = 32;
  int records_fd = -1;  // memory for what one call runs, if `collect` will be called
};

/// A process that waits for its one candidate. Not thread-safe; the jail ends with the calling
/// thread.
class HostRunner {
 public:
  /// Returns while the process warms up (3 s, in which it takes a core).
  static Result<HostRunner> start(const HostRunnerOptions& options);

  /// Returns once the process is warm and idle. Call it before anything is timed.
  OrFailure<void> settle(Patience patience);

  /// A contestant that is jailed, confined, calibrated and stopped. `load` will load the candidate.
  OrFailure<Contestant> enter(const HostContestantSpec& spec, Deadline deadline) &&;

  bool alive() { return process_->alive(); }

 private:
  HostRunner(std::shared_ptr<JailedProcess> process, FrameSocket socket)
      : process_(std::move(process)), socket_(std::move(socket)) {}
  OrFailure<void> answered(Patience patience);

  std::shared_ptr<JailedProcess> process_;
  FrameSocket socket_;
  bool warm_ = false;
};

}  // namespace warpsmith::sandbox
