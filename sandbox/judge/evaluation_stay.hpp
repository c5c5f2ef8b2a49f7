// SPDX-License-Identifier: Apache-2.0
// A loaded candidate over one stay of the reference worker: verified, then timed.
#pragma once

#include <algorithm>
#include <chrono>
#include <memory>
#include <span>
#include <vector>

#include "sandbox/judge/candidate_calls.hpp"
#include "sandbox/judge/evaluation.hpp"
#include "sandbox/judge/phase_clock.hpp"
#include "sandbox/timing/call_meter.hpp"
#include "sandbox/timing/schedule.hpp"

namespace warpsmith::sandbox {

/// Patience with one call: generous, for a machine under load.
inline std::chrono::milliseconds call_patience(const TaskFacts& facts) {
  return std::chrono::milliseconds{2000 + static_cast<int64_t>(50 * facts.eager_ms)};
}

/// The same for a candidate's first one, and before it.
Deadline patience_with(const EvaluationJob& job, Deadline deadline);

/// The same for a later one of a process of its own or on a device: `slowest` of its calls so far.
std::chrono::milliseconds later_patience(const TaskFacts& facts, bool on_device,
                                         std::chrono::milliseconds slowest);

class EvaluationStay {
 public:
  /// What is measured goes to `outcome`. All of them outlive this.
  EvaluationStay(const EvaluationJob& job, CandidateCalls& calls, WorkerSession& session,
                 FurtherBaselines& further, EvaluationOutcome& outcome, Deadline deadline);

  /// Before a staged candidate's code is loaded onto a device: what must not depend on it. Requires
  /// contestants that are calibrated; once, and only where the candidate will be timed.
  Result<void> time_undisturbed();
  Result<void> run();

 private:
  Deadline patience() const;
  /// A GPU then runs the candidate's context: changing to it is nobody's time. Before every call,
  /// timed or not: device code that looks around finds the same. Nothing where there is none.
  std::optional<CallResult> rouse();
  CallResult call_candidate(uint32_t set);
  PhaseClock phase(const char* name) { return {outcome_.phase_ms, name}; }
  uint32_t next_set() { return set_ = (set_ + 1) % job_.bench.sets(); }
  Result<void> fill(uint32_t set, uint64_t number, Distribution distribution,
                    std::span<const InputRule> rules);

  // evaluation_stay.cpp
  bool all_right() const;
  Result<void> verify();
  Result<VerifiedSet> verify_one(uint64_t number, Distribution distribution);

  // evaluation_timing.cpp
  Result<void> time();
  Result<void> time_blocks(Timings& timings, ClockLog* clocks);
  bool enough(const Timings& timings, double spent_ms) const;
  Result<void> time_block(const Block& block, uint64_t number, Timings& timings);
  bool time_candidate(uint32_t set, TimedBlock& times, Timings& timings);
  Result<void> time_baseline(Party party, uint32_t set, TimedBlock& times);
  Result<void> time_further(Party party, uint32_t set, TimedBlock& times);
  bool present(Party party) const;

  const EvaluationJob& job_;
  StreamKey key_;
  RandomStream random_;
  Contestant& candidate_;
  CandidateCalls& calls_;
  std::vector<InputRule> verified_rules_;
  BoundRule bound_;
  WorkerSession& session_;
  FurtherBaselines& further_;
  EvaluationOutcome& outcome_;
  std::unique_ptr<CallMeter> candidate_meter_, session_meter_;
  Deadline deadline_;
  bool draws_ = false;
  uint64_t drawn_ = 0;  // number of the contents that were drawn last
  uint32_t set_ = 0;
  std::optional<Undisturbed> undisturbed_;
  std::chrono::milliseconds slowest_{0};  // of the candidate's calls, rounded up; 0: none so far
};

}  // namespace warpsmith::sandbox
