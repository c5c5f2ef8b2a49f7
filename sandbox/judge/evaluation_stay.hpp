// SPDX-License-Identifier: Apache-2.0
// Verifies and then times a loaded candidate during one session of the reference worker.
#pragma once

#include <algorithm>
#include <chrono>
#include <memory>
#include <span>
#include <vector>

#include "sandbox/commit/contestant.hpp"
#include "sandbox/judge/candidate_calls.hpp"
#include "sandbox/judge/evaluation.hpp"
#include "sandbox/judge/phase_clock.hpp"
#include "sandbox/timing/call_meter.hpp"
#include "sandbox/timing/clock_log.hpp"
#include "sandbox/timing/schedule.hpp"

namespace warpsmith::sandbox {

/// Time limit of one call: generous, for a machine under load.
inline std::chrono::milliseconds call_patience(const TaskFacts& facts) {
  return std::chrono::milliseconds{2000 + static_cast<int64_t>(50 * facts.eager_ms)};
}

/// The same for a candidate's first call and for loading it.
std::chrono::milliseconds first_patience(const EvaluationJob& job);

/// The same for later calls of a process of its own or on a device; `slowest` is its slowest call
/// so far.
std::chrono::milliseconds later_patience(const TaskFacts& facts, bool on_device,
                                         std::chrono::milliseconds slowest);

class EvaluationStay {
 public:
  /// Results go to `outcome`. All arguments outlive this object.
  EvaluationStay(const EvaluationJob& job, CandidateCalls& calls, WorkerSession& session,
                 FurtherBaselines& further, EvaluationOutcome& outcome, Deadline deadline);

  /// Times the baselines before a staged candidate's code is loaded onto a device. Requires
  /// calibrated contestants; call it once, and only if the candidate will be timed.
  OrFailure<void> time_undisturbed();
  OrFailure<void> run();

 private:
  Patience patience() const;
  /// Switches the GPU to the candidate's context, so that no call's time includes it. Called
  /// before every call, timed or not, so that device code cannot tell them apart. Empty where not
  /// needed.
  std::optional<CallResult> warm_up();
  CallResult call_candidate(uint32_t set);
  PhaseClock phase(const char* name) { return {outcome_.phase_ms, name}; }
  uint32_t next_set() { return set_ = (set_ + 1) % job_.bench.sets(); }
  OrFailure<void> fill(uint32_t set, uint64_t number, Distribution distribution,
                       std::span<const InputRule> rules);

  // evaluation_stay.cpp
  /// How sets are made and compared.
  struct Measure {
    Numerics numerics = Numerics::strict;
    std::vector<InputRule> rules;
    BoundRule bound;
  };
  static Measure measure_of(const EvaluationJob& job, Numerics numerics);
  bool all_right() const;
  bool timed_well() const;
  OrFailure<void> verify();
  OrFailure<void> verify_strictly();
  OrFailure<VerifiedSet> verify_one(uint64_t number, Distribution distribution,
                                    const Measure& measure);

  // evaluation_timing.cpp
  OrFailure<void> time();
  OrFailure<void> time_blocks(Timings& timings, ClockLog* clocks);
  bool enough(const Timings& timings, double spent_ms) const;
  OrFailure<void> time_block(const Block& block, uint64_t number, Timings& timings);
  bool time_candidate(uint32_t set, TimedBlock& times, Timings& timings);
  OrFailure<void> time_baseline(Party party, uint32_t set, TimedBlock& times);
  OrFailure<void> time_further(Party party, uint32_t set, TimedBlock& times);
  bool present(Party party) const;

  const EvaluationJob& job_;
  StreamKey key_;
  RandomStream random_;
  Contestant& candidate_;
  CandidateCalls& calls_;
  Measure measure_;
  WorkerSession& session_;
  FurtherBaselines& further_;
  EvaluationOutcome& outcome_;
  CallMeter candidate_meter_, session_meter_;
  Deadline deadline_;
  bool draws_ = false;
  uint64_t drawn_ = 0;  // number of the contents drawn last
  uint32_t set_ = 0;
  std::optional<Undisturbed> undisturbed_;
  std::chrono::milliseconds slowest_{0};  // slowest call so far, rounded up; 0: none
};

}  // namespace warpsmith::sandbox
