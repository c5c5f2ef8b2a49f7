// SPDX-License-Identifier: Apache-2.0
// A candidate of contract `host`: its own Python process with torch, in a jail, on one GPU or on
// the CPU.
//
// The process waits warm, without knowing its candidate, and serves one. Before any code of a
// candidate is loaded it puts the filter in force that refuses programs, processes, sockets and
// signals to others (threads it may have: the CUDA driver and torch need them; a SIGSTOP reaches
// them all), and whole calls of our own code are timed: the reveal, the ring, the copy of outputs
// of that size, `done`. Their median is subtracted from the candidate's calls. A candidate that
// finds the outputs in its memory and writes there itself saves that copy, whose share the record
// therefore holds.
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
  const std::string& artefact;  // bytes of what `submission.artefact` says
  const Task& task;             // its get_init_inputs is called in the candidate's process
  const TaskSignature& signature;
  Stage& stage;
  int calibration_calls = 32;
  int records_fd = -1;  // memory for what one call runs, if `collect` is to be asked for
};

/// A process that waits for its one candidate. Not thread-safe; the jail is the calling thread's.
class HostRunner {
 public:
  /// Returns while it warms up by itself (3 s, in which it takes a core).
  static Result<HostRunner> start(const HostRunnerOptions& options);

  /// Returns once it is warm and waits without a core. Call it before anything is timed.
  Result<void> settle(Deadline deadline);

  /// A contestant that is jailed, confined, calibrated and stopped. The candidate is not loaded
  /// yet: `load` does that. Failures here are ours.
  Result<Contestant> enter(const HostContestantSpec& spec, Deadline deadline) &&;

  bool alive() { return process_->alive(); }

 private:
  HostRunner(std::shared_ptr<JailedProcess> process, FrameSocket socket)
      : process_(std::move(process)), socket_(std::move(socket)) {}
  Result<void> answered(Deadline deadline);

  std::shared_ptr<JailedProcess> process_;
  FrameSocket socket_;
  bool warm_ = false;
};

}  // namespace warpsmith::sandbox
