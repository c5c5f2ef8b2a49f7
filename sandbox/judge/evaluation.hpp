// SPDX-License-Identifier: Apache-2.0
// One evaluation of a compiled candidate: it is verified on several sets, then timed in interleaved
// blocks.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "runtime/clock.hpp"
#include "runtime/device/lease.hpp"
#include "runtime/result.hpp"
#include "runtime/submission.hpp"
#include "sandbox/commit/contestant.hpp"
#include "sandbox/failure/own_time.hpp"
#include "sandbox/judge/bench.hpp"
#include "sandbox/judge/ingest_record.hpp"
#include "sandbox/judge/seed.hpp"
#include "sandbox/judge/verdict_of.hpp"
#include "sandbox/reference/further_baselines.hpp"
#include "sandbox/reference/worker.hpp"

namespace warpsmith::sandbox {

/// Verified sets with the distribution of timed sets, besides `verified_sets` with the others.
inline constexpr int verified_dense_sets = 1;
/// How many sets must be right for a pass; `sets` is the number for `strict` besides the dense one.
constexpr int wanted_sets(Numerics numerics, int sets) {
  return numerics == Numerics::paper ? paper_sets : sets + verified_dense_sets;
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
  /// Starts a jailed process, calibrated and stopped, without the candidate's code.
  std::function<OrFailure<Contestant>(Deadline)> start_candidate;
  /// Takes over a candidate's process that completed all its calls. If empty, and after any
  /// failure, the process is killed.
  KeepCandidate keep_candidate;
  /// Leases the device while the candidate is verified and timed; empty where no device is shared.
  AcquireLease lease;
  /// Called under the lease after a candidate that ended badly is gone; without the lease it would
  /// disturb a neighbour's timed calls. Empty where there is no device.
  CheckDevice check_device;
  std::function<uint64_t()> free_memory;  // free bytes of that device
  bool on_device = false;                 // a GPU is timed
  CandidateStage* stage = nullptr;        // what the candidate sees; null: it maps the bench itself
  std::chrono::milliseconds call_timeout{5'000};  // limit of each of its calls
  int verified_sets = 5;
  int timed_blocks = 8;
  std::chrono::milliseconds long_timing{5'000};  // soft limit of its timed calls
  bool timed = false;
  /// Prepared if `timed`; those that fail are dropped from it. Null: none.
  FurtherBaselines* further = nullptr;
  cuda::ClockReader* clocks = nullptr;  // for a GPU slot whose board supports it
  std::string no_clocks;                // otherwise the reason why not
  OwnTime* own = nullptr;               // counts the time of the candidate's import and calls
  uint64_t contents_before = 0;  // other evaluations with the same seed used numbers up to this
  /// `paper` verifies a kernel that passes by `strict` too, if the record says that this is
  /// possible.
  Numerics numerics = Numerics::strict;
};

/// Facts about a candidate that ran on a stage.
struct StageFacts {
  bool on_device = false;                    // its work may outlast its stop
  double reveal_ms = 0, output_copy_ms = 0;  // subtracted from its times, as is an empty call
  double noop_ms = 0;                        // all that is subtracted, including the sample
  std::vector<std::string> libraries;        // for computing, mapped after loading
  std::vector<std::string> hints;            // about its text (host_hints.hpp)
  std::optional<double> share;               // of the measured time that was subtracted
  bool within_share = true;                  // false lowers the trust class
};

/// The results of an evaluation, for `decide` and for the evidence.
struct EvaluationOutcome {
  Numerics numerics = Numerics::strict;
  Measurements measured;
  std::map<std::string, double> phase_ms;
  std::map<std::string, std::string> jail;
  double candidate_noop_ms = 0, baseline_noop_ms = 0;
  std::optional<StageFacts> stage;
  std::optional<double> device_held_ms;  // how long this evaluation had the GPU for itself
};

/// Whether its process died, hung, or was refused by the device.
bool ended_badly(const Measurements& measured);

/// What the candidate does wrong is part of the outcome. An error is a failure of the machine
/// (`timeout` if the deadline passed), after which the worker must be replaced. If a further
/// baseline was the cause, a retry runs without it.
OrFailure<EvaluationOutcome> run_evaluation(const EvaluationJob& job, Deadline deadline);

}  // namespace warpsmith::sandbox
