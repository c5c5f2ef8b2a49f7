// SPDX-License-Identifier: Apache-2.0
// One ingest: a worker inside the commit protocol, and the record so far.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sandbox/ingest/ingest.hpp"
#include "sandbox/ingest/mutation_gate.hpp"
#include "sandbox/judge/bench.hpp"
#include "sandbox/judge/further_trials.hpp"
#include "sandbox/timing/call_meter.hpp"

namespace warpsmith::sandbox {

/// Where a set takes longer than this, distributions are tried only until enough are kept: deep
/// recurrent networks would take minutes for all.
inline constexpr std::chrono::seconds slow_set{5};

// The least number of timed outputs that an evaluation checks.
inline constexpr int timed_sets = 9;

// An ingest uses buffer set 0 alone, so that a task needs memory for no second one. The candidate's
// outputs there keep eager's, because no candidate exists.
inline constexpr Outputs of_eager{Side::candidate}, of_worker{Side::worker};

class IngestStay {
 public:
  /// All arguments outlive this object.
  IngestStay(const IngestJob& job, const TaskDescription& description, Bench& bench,
             WorkerSession& session, FurtherBaselines& further, Patience patience);

  /// The current phase, for progress and errors.
  const std::string& doing() const { return doing_; }
  OrFailure<IngestRecord> run(const StreamKey& key);

 private:
  using Step = OrFailure<void> (IngestStay::*)();

  // ingest_stay.cpp
  std::vector<Step> strict_steps() const;
  std::vector<Step> further_steps() const;
  OrFailure<void> take(const std::vector<Step>& steps);
  void say(const std::string& what);
  OrFailure<void> prepare(Distribution distribution);
  OrFailure<void> fill(Distribution distribution, const std::vector<InputRule>& rules);
  OrFailure<void> calibrate_meter();
  OrFailure<void> baseline(bool compiled);
  OrFailure<void> refer();
  OrFailure<void> keep_eager();

  // ingest_honest.cpp
  struct Trial {
    DistributionFacts facts;
    std::string shortfall;  // why it is not kept; empty if it is
  };
  OrFailure<Trial> trial(Distribution distribution);
  OrFailure<void> choose_domain();
  OrFailure<std::vector<std::string>> try_domain(Domain domain);
  bool is_enough() const;
  OrFailure<void> try_dense();

  // ingest_gate.cpp
  void start_gate();
  OrFailure<void> gate();
  OrFailure<void> try_mutants(DistributionFacts& facts);
  OrFailure<void> try_survivors();
  OrFailure<std::optional<ErrorStats>> judge_mutant(uint32_t index);
  void note_precision(DistributionFacts& facts, size_t mutant, const ErrorStats& stats) const;
  bool is_detected(const std::string& precision) const;
  OrFailure<void> gate_timed();
  OrFailure<void> try_timed(size_t mutant, MutantTrial& trial);

  // ingest_paper.cpp
  OrFailure<void> gate_paper();
  OrFailure<void> try_paper(std::vector<MutantTrial>& trials);
  OrFailure<void> complete_for_paper();

  // ingest_times.cpp
  int profile_sets() const;
  OrFailure<void> calibrate_dense();
  OrFailure<void> time_baselines();

  const IngestJob& job_;
  const TaskDescription& description_;
  Bench& bench_;
  WorkerSession& session_;
  CallMeter meter_;
  Patience patience_;
  StreamKey key_{};
  uint64_t contents_ = 0;
  uint64_t referred_ = 0;  // the contents whose reference lies in the result memory
  BoundRule bound_ = bound_for(spread_evaluations);
  double charged_ms_ = 0;              // of the last baseline call
  SteadyClock::duration set_time_{0};  // of the last trial of a distribution
  SteadyClock::time_point began_ = SteadyClock::now();
  std::vector<MutantTrial> trials_;
  std::string doing_;
  FurtherTrials further_;
  IngestRecord record_;
};

/// Why a task with such times is refused; empty if it is not. An error if a time is far below zero:
/// then the no-op was measured wrong. Pure.
Result<std::string> objection_to_times(double eager_ms, double compile_ms);

}  // namespace warpsmith::sandbox
