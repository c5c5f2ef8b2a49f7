// SPDX-License-Identifier: Apache-2.0
// One evaluation of a compiled candidate: it is verified on several sets, then timed in interleaved
// blocks.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "runtime/clock.hpp"
#include "runtime/config/sandbox_config.hpp"
#include "runtime/device/lease.hpp"
#include "runtime/result.hpp"
#include "runtime/submission.hpp"
#include "sandbox/commit/contestant.hpp"
#include "sandbox/failure/time_limits.hpp"
#include "sandbox/judge/bench.hpp"
#include "sandbox/judge/clock_log.hpp"
#include "sandbox/judge/ingest_record.hpp"
#include "sandbox/judge/measurements.hpp"
#include "sandbox/judge/seed.hpp"
#include "sandbox/reference/baseline.hpp"
#include "sandbox/reference/worker.hpp"

namespace warpsmith::sandbox {

/// Accounts for the time of an evaluation by phase: adds its lifetime to one entry, in
/// milliseconds.
class PhaseClock {
 public:
  PhaseClock(std::map<std::string, double>& phases, std::string name)
      : phases_(phases), name_(std::move(name)), began_(SteadyClock::now()) {}
  ~PhaseClock() { phases_[name_] += in_ms(SteadyClock::now() - began_); }
  PhaseClock(const PhaseClock&) = delete;
  PhaseClock& operator=(const PhaseClock&) = delete;

 private:
  std::map<std::string, double>& phases_;
  std::string name_;
  SteadyClock::time_point began_;
};

/// Verified sets with the distribution of timed sets, besides `verified_sets` with the others.
inline constexpr int verified_dense_sets = 1;
/// How many sets must be right for a pass.
constexpr int wanted_sets(const SandboxSettings& settings) {
  return settings.numerics == Numerics::paper
             ? paper_sets
             : static_cast<int>(settings.verified_sets) + verified_dense_sets;
}

/// Takes over a candidate's process, which continues with other sizes of the task's inputs.
using KeepCandidate = std::function<void(Contestant, Deadline)>;

/// Checks the device. An error says what is wrong with it.
using CheckDevice = std::function<Result<void>(Deadline)>;

/// Everything that one evaluation uses; all of it outlives the call.
struct EvaluationJob {
  const Task& task;
  const IngestRecord& record;
  Bench& bench;
  const SecretSeed& seed;
  ReferenceWorker& worker;  // has loaded the task, and compiled it if `timed`
  /// Numerics `paper` verifies a kernel that passes by `strict` too, if the record says that this
  /// is possible.
  const SandboxSettings& settings;
  /// Starts a jailed process, calibrated and stopped, without the candidate's code.
  std::function<OrFailure<Contestant>(Deadline)> start_candidate;
  /// Takes over a candidate's process that completed all its calls. If empty, and after any
  /// failure, the process is killed.
  KeepCandidate keep_candidate;
  /// Leases the device while the candidate is verified and timed; empty if no device is shared.
  AcquireLease lease;
  /// Called under the lease after a candidate that ended badly is gone; without the lease it would
  /// disturb a neighbour's timed calls. Empty if there is no device.
  CheckDevice check_device;
  std::function<uint64_t()> free_memory;  // free bytes of that device
  bool on_device = false;                 // a GPU is timed
  CandidateStage* stage = nullptr;        // what the candidate sees; null: it maps the bench itself
  std::chrono::milliseconds long_timing{5'000};  // soft limit of its timed calls
  bool timed = false;
  /// Prepared if `timed`; those that fail are dropped from it. Null: none.
  FurtherBaselines* further = nullptr;
  cuda::ClockReader* clocks = nullptr;  // for a GPU slot whose board supports it
  std::string no_clocks;                // otherwise the reason why not
  CandidateTime* own = nullptr;         // counts the time of the candidate's import and calls
  uint64_t contents_before = 0;  // other evaluations with the same seed used numbers up to this
};

/// The results of an evaluation, for `decide` and for the evidence.
struct EvaluationOutcome {
  Numerics numerics = Numerics::strict;
  Measurements measured;
  std::map<std::string, double> phase_ms;
  std::map<std::string, std::string> jail;
  double candidate_noop_ms = 0, baseline_noop_ms = 0;
  std::optional<StageFacts> stage;
  std::optional<ClockRecord> clocks;     // of a timed GPU
  std::string no_clocks;                 // why they are missing; empty on a CPU
  std::optional<double> device_held_ms;  // how long this evaluation had the GPU for itself
};

/// Whether its process died, hung, or was refused by the device.
bool ended_badly(const Measurements& measured);

/// What the candidate does wrong is part of the outcome. An error is a failure of the machine
/// (`timeout` if the deadline passed), after which the worker must be replaced. If a further
/// baseline was the cause, a retry runs without it.
OrFailure<EvaluationOutcome> run_evaluation(const EvaluationJob& job, Deadline deadline);

}  // namespace warpsmith::sandbox
