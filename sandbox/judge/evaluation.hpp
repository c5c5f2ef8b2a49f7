// SPDX-License-Identifier: Apache-2.0
// One evaluation of a compiled candidate: verified sets, then interleaved timing.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "runtime/clock.hpp"
#include "runtime/result.hpp"
#include "runtime/submission.hpp"
#include "sandbox/commit/contestant.hpp"
#include "sandbox/device/lease.hpp"
#include "sandbox/judge/bench.hpp"
#include "sandbox/judge/ingest_record.hpp"
#include "sandbox/judge/own_time.hpp"
#include "sandbox/judge/seed.hpp"
#include "sandbox/judge/verdict_of.hpp"
#include "sandbox/reference/further_baselines.hpp"
#include "sandbox/reference/worker.hpp"

namespace warpsmith::sandbox {

/// Of the distribution that timed sets have, besides `verified_sets` of the others.
inline constexpr int verified_dense_sets = 1;
/// All that numerics `paper` verifies.
inline constexpr int paper_sets = 5;

/// How many sets must be right for a pass; `sets` are those of `strict` besides the dense one.
constexpr int wanted_sets(Numerics numerics, int sets) {
  return numerics == Numerics::paper ? paper_sets : sets + verified_dense_sets;
}

/// How inputs are filled in the sets of numerics `paper`: about the mean of the task's own, with
/// their deviation, as parameters are. What must lie in (0, 1) keeps to that.
std::vector<InputRule> paper_rules(std::vector<InputRule> rules);

/// Takes a candidate's process that goes on with other sizes of the task's inputs.
using KeepCandidate = std::function<void(Contestant, Deadline)>;

/// Whether the device is still well. An error says what is wrong with it.
using CheckDevice = std::function<Result<void>(Deadline)>;

/// Everything that one evaluation works with; all of it outlives the call.
struct EvaluationJob {
  const Task& task;
  const IngestRecord& record;
  Bench& bench;
  const SecretSeed& seed;
  ReferenceWorker& worker;  // has loaded the task, and compiled it if `timed`
  /// A jailed, calibrated, stopped process that has not loaded the candidate yet.
  std::function<Result<Contestant>(Deadline)> start_candidate;
  /// Takes one that did all that was asked of it; empty, and any other, is ended.
  KeepCandidate keep_candidate;
  /// Held while the candidate is verified and timed; empty where nothing is shared.
  AcquireLease lease;
  /// Asked under the lease once a candidate that ended badly is gone: beside a neighbour's timed
  /// calls it would be in their times. Empty where there is no device.
  CheckDevice check_device;
  std::function<uint64_t()> free_memory;  // of that device, in bytes
  bool on_device = false;                 // times are a GPU's
  Stage* stage = nullptr;  // what the candidate is shown; none: it maps the bench itself
  std::chrono::milliseconds call_timeout{5'000};  // of one of its calls, at most
  int verified_sets = 5;
  int timed_blocks = 8;
  std::chrono::milliseconds long_timing{5'000};  // of its timed calls: more only while in doubt
  bool timed = false;
  /// Made ready if `timed`; those that cannot be called are dropped from it. Null: none.
  FurtherBaselines* further = nullptr;
  cuda::ClockReader* clocks = nullptr;  // of a GPU slot whose board answers
  std::string no_clocks;                // else why it does not
  OwnTime* own = nullptr;               // counts the candidate's import and calls
  uint64_t contents_before = 0;  // numbers up to this are another evaluation's with the same seed
  Numerics numerics = Numerics::strict;  // the record is that of `strict` either way
};

/// Of a candidate that was shown a stage.
struct StageFacts {
  bool on_device = false;                    // where work may be resident while it is stopped
  double reveal_ms = 0, output_copy_ms = 0;  // subtracted from its times, beside an empty call
  double noop_ms = 0;                        // all that is subtracted, with the sample too
  std::vector<std::string> libraries;        // that compute, mapped since it was loaded
  std::vector<std::string> hints;            // of its text (host_hints.hpp)
  std::optional<double> share;               // of the measured time that was subtracted
  bool within_share = true;                  // false lowers the trust class
};

/// What happened, for `decide` and for the evidence.
struct EvaluationOutcome {
  Numerics numerics = Numerics::strict;
  Measurements measured;
  std::map<std::string, double> phase_ms;
  std::map<std::string, std::string> jail;
  double candidate_noop_ms = 0, baseline_noop_ms = 0;
  std::optional<StageFacts> stage;
  std::optional<double> device_held_ms;  // how long no other evaluation had the GPU
};

/// Its process died, hung, or was refused by the device.
bool ended_badly(const Measurements& measured);

/// An error is a failure of ours (code `timeout` if the deadline passed); then the worker must be
/// replaced. Where a further baseline was the cause a later try goes without it.
/// What the candidate does wrong is part of the outcome.
Result<EvaluationOutcome> run_evaluation(const EvaluationJob& job, Deadline deadline);

}  // namespace warpsmith::sandbox
