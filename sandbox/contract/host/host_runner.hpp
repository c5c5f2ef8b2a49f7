// SPDX-License-Identifier: Apache-2.0
// A candidate of contract `host`: its own Python process with torch, in a jail, on one GPU or on
// the CPU.
//
// The process waits warm and serves one candidate. Before any code of the candidate is loaded, the
// process puts its filter in force: it refuses programs, processes, sockets and signals to others,
// and allows threads (the CUDA driver and torch need them; a SIGSTOP stops them all). Then whole
// calls of the judge's own code are timed: the reveal, the ring, a copy of outputs of that size,
// `done`. Their median is subtracted from the candidate's calls. A candidate that finds the outputs
// in its memory and writes them in place saves that copy, so the record contains the copy's share.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "runtime/clock.hpp"
#include "runtime/process/frame_socket.hpp"
#include "runtime/result.hpp"
#include "sandbox/commit/contestant.hpp"
#include "sandbox/contract/contract.hpp"
#include "sandbox/contract/host/host_submission.hpp"
#include "sandbox/judge/bench.hpp"

namespace warpsmith::sandbox {

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
  static Result<HostRunner> start(const ContractSlot& slot);

  /// Returns once the process is warm and idle. Call it before anything is timed.
  OrFailure<void> settle(Patience patience);

  /// A contestant that is jailed, confined, calibrated and stopped. `load` will load the candidate.
  OrFailure<Contestant> enter(const HostContestantSpec& spec, Deadline deadline) &&;

  bool alive() { return process_->alive(); }

 private:
  HostRunner(std::shared_ptr<JailedProcess> process, FrameSocket socket)
      : process_(std::move(process)), socket_(std::move(socket)) {}
  OrFailure<void> await_answer(Patience patience);

  std::shared_ptr<JailedProcess> process_;
  FrameSocket socket_;
  bool warm_ = false;
};

/// Holds at most one waiting process; its jail is the calling thread's.
class HostRunners {
 public:
  explicit HostRunners(const ContractSlot& slot) : slot_(slot) {}

  /// Starts a process if none waits. It takes a core for a while.
  Result<void> begin_warming();
  /// The same, and returns once the process is warm.
  OrFailure<void> warm_up(Deadline deadline);
  /// Returns once nothing is warming up. Drops a process that does not become warm.
  void wait_idle(Deadline deadline);
  /// A warm process, for one candidate.
  OrFailure<HostRunner> take(Deadline deadline);

 private:
  ContractSlot slot_;
  std::optional<HostRunner> waiting_;
};

}  // namespace warpsmith::sandbox
