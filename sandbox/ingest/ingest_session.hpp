// SPDX-License-Identifier: Apache-2.0
// One ingest: finds the distributions on which a task can be judged, runs the mutation gate, and
// times the baselines, in one session of the reference worker.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sandbox/ingest/device_turns.hpp"
#include "sandbox/ingest/ingest.hpp"
#include "sandbox/ingest/input_plans.hpp"
#include "sandbox/ingest/mutation_gate.hpp"
#include "sandbox/judge/bench.hpp"
#include "sandbox/judge/further_trials.hpp"
#include "sandbox/timing/call_meter.hpp"

namespace warpsmith::sandbox {

/// A session of the reference worker, and the record so far.
class IngestSession {
 public:
  /// All arguments outlive this object.
  IngestSession(const IngestJob& job, const TaskDescription& description, Bench& bench,
                WorkerSession& session, FurtherBaselines& further, DeviceTurns& turns);

  /// The current phase, for errors.
  const std::string& phase() const { return phase_; }
  OrFailure<IngestRecord> run(const StreamKey& key);

 private:
  using Step = OrFailure<void> (IngestSession::*)();

  std::vector<Step> strict_steps() const;
  std::vector<Step> further_steps() const;
  OrFailure<void> run_steps(const std::vector<Step>& steps);
  void report(const std::string& what);
  OrFailure<void> prepare(Distribution distribution);
  OrFailure<void> fill(Distribution distribution, const std::vector<InputRule>& rules);
  OrFailure<void> calibrate_meter();
  OrFailure<void> baseline(bool compiled);
  OrFailure<void> make_reference();
  OrFailure<void> keep_eager();
  OrFailure<ErrorStats> compare_with_reference();
  OrFailure<ErrorStats> compare_with_eager(bool exactly);
  OrFailure<bool> stays_finite(Distribution distribution);

  struct DistributionTrial {
    DistributionFacts facts;
    std::string shortfall;  // why it is not kept; empty if it is
  };
  OrFailure<DistributionTrial> try_distribution(Distribution distribution);
  OrFailure<void> choose_inputs();
  OrFailure<std::vector<std::string>> try_plan(const InputPlan& plan);
  bool is_enough() const;
  OrFailure<bool> try_dense(std::vector<std::string>& dropped);

  void start_gate();
  OrFailure<void> gate();
  OrFailure<void> try_mutants(DistributionFacts& facts);
  OrFailure<void> try_survivors();
  void note_insensitive(const std::string& wrong_answers);
  OrFailure<void> exempt_without_effect(std::vector<MutantTrial>& trials);
  OrFailure<std::optional<ErrorStats>> judge_mutant(uint32_t index);
  void note_precision(DistributionFacts& facts, size_t mutant, const ErrorStats& stats) const;
  bool is_detected(const std::string& precision) const;
  OrFailure<void> gate_timed();
  OrFailure<void> try_timed(size_t mutant, MutantTrial& trial);

  OrFailure<void> gate_paper();
  OrFailure<void> try_paper(std::vector<MutantTrial>& trials);
  OrFailure<void> complete_for_paper();

  int profile_sets() const;
  OrFailure<void> calibrate_dense();
  OrFailure<void> time_baselines();

  const IngestJob& job_;
  const TaskDescription& description_;
  Bench& bench_;
  WorkerSession& session_;
  CallMeter meter_;
  DeviceTurns& turns_;
  StreamKey key_{};
  uint64_t contents_ = 0;
  uint64_t referenced_ = 0;      // the contents whose reference lies in the result memory
  uint64_t dense_contents_ = 0;  // of try_dense
  std::string unseen_;           // wrong answers that the chosen inputs never show
  BoundRule bound_ = bound_for(spread_evaluations);
  double charged_ms_ = 0;              // of the last baseline call
  SteadyClock::duration set_time_{0};  // of the last trial of a distribution
  SteadyClock::time_point began_ = SteadyClock::now();
  std::vector<MutantTrial> trials_;
  std::string phase_;
  int phases_ = 0;  // reported so far
  FurtherTrials further_;
  IngestRecord record_;
};

/// Why a task with such times is refused; empty if it is not. An error if a time is far below zero:
/// then the no-op was measured wrong. Pure.
Result<std::string> objection_to_times(double eager_ms, double compile_ms);

}  // namespace warpsmith::sandbox
