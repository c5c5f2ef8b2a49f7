// SPDX-License-Identifier: Apache-2.0
// What happens to a candidate during one session of the reference worker: it is called, verified
// and then timed.
#pragma once

#include <algorithm>
#include <chrono>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sandbox/commit/contestant.hpp"
#include "sandbox/judge/clock_log.hpp"
#include "sandbox/judge/evaluation.hpp"
#include "sandbox/timing/call_meter.hpp"
#include "sandbox/timing/schedule.hpp"

namespace warpsmith::sandbox {

/// Base names of the libraries in the text of /proc/PID/maps that compute (NVIDIA's, triton's,
/// OpenMP's), sorted, once each. Pure.
std::vector<std::string> computing_libraries(const std::string& maps);

/// Calls a candidate, either directly on the bench or through a stage, which reveals a set with the
/// clock running and samples the outputs at `done`. Both arguments outlive it.
class CandidateCalls {
 public:
  CandidateCalls(const EvaluationJob& job, Contestant& candidate)
      : job_(job), candidate_(candidate), random_(job.seed.seed, "positions") {}

  Contestant& candidate() { return candidate_; }
  CallResult load(Patience patience);
  /// Calls on the bench's set, which must be filled and reset; it then holds the candidate's
  /// outputs.
  CallResult call(uint32_t set, Patience patience);
  /// Empty if there is no stage. Libraries are listed only while the candidate lives.
  std::optional<StageFacts> facts();

 private:
  const EvaluationJob& job_;
  Contestant& candidate_;
  RandomStream random_;
  std::vector<std::string> libraries_before_;  // mapped before the candidate was loaded
};

/// Time limit of one call: generous, for a machine under load.
inline std::chrono::milliseconds call_patience(const TaskFacts& facts) {
  return std::chrono::milliseconds{2000 + static_cast<int64_t>(50 * facts.eager_ms)};
}

/// The same for a candidate's first call and for loading it.
std::chrono::milliseconds first_patience(const EvaluationJob& job);

/// The same for later calls of a separate process or on a device; `slowest` is its slowest call so
/// far.
std::chrono::milliseconds later_patience(const TaskFacts& facts, bool on_device,
                                         std::chrono::milliseconds slowest);

/// Verifies and then times a loaded candidate.
class EvaluationSession {
 public:
  /// Results go to `outcome`. All arguments outlive this object.
  EvaluationSession(const EvaluationJob& job, CandidateCalls& calls, WorkerSession& session,
                    FurtherBaselines& further, EvaluationOutcome& outcome, Deadline deadline);

  /// Times the baselines before a staged candidate's code is loaded onto a device. Requires
  /// calibrated contestants; call it once, and only if the candidate will be timed.
  OrFailure<void> time_undisturbed();
  OrFailure<void> run();

 private:
  Patience patience() const;
  /// Switches the GPU to the candidate's context, so that no call's time includes it. Called
  /// before every call, timed or not, so that device code cannot tell them apart. Empty if not
  /// needed.
  std::optional<CallResult> warm_up();
  CallResult call_candidate(uint32_t set);
  PhaseClock phase(const char* name) { return {outcome_.phase_ms, name}; }
  uint32_t next_set() { return set_ = (set_ + 1) % job_.bench.sets(); }
  OrFailure<void> fill(uint32_t set, uint64_t number, Distribution distribution,
                       std::span<const InputRule> rules);

  /// How sets are made and compared.
  struct Criteria {
    Numerics numerics = Numerics::strict;
    std::vector<InputRule> rules;
    BoundRule bound;
  };
  static Criteria criteria_for(const EvaluationJob& job, Numerics numerics);
  bool all_sets_right() const;
  bool timed_calls_right() const;
  OrFailure<void> verify();
  OrFailure<void> verify_strictly();
  OrFailure<VerifiedSet> verify_one(uint64_t number, Distribution distribution,
                                    const Criteria& criteria);
  OrFailure<VerifiedSet> verify_draw(uint64_t number, Distribution distribution,
                                     const Criteria& criteria);
  OrFailure<bool> is_eager_right(uint32_t set, const BoundRule& bound);

  OrFailure<void> time();
  OrFailure<void> time_blocks(Timings& timings, ClockLog* clocks);
  bool is_slow_beyond_doubt(const Timings& timings, double spent_ms) const;
  OrFailure<void> time_block(const Block& block, uint64_t number, Timings& timings);
  OrFailure<ErrorStats> timed_errors(uint32_t candidate_set, uint32_t eager_set, Timings& timings);
  bool time_candidate(uint32_t set, TimedBlock& times, Timings& timings);
  OrFailure<void> time_baseline(Implementation implementation, uint32_t set, TimedBlock& times);
  OrFailure<void> time_further(Implementation implementation, uint32_t set, TimedBlock& times);
  bool is_available(Implementation implementation) const;

  const EvaluationJob& job_;
  StreamKey key_;
  RandomStream random_;
  Contestant& candidate_;
  CandidateCalls& calls_;
  Criteria criteria_;
  WorkerSession& session_;
  FurtherBaselines& further_;
  EvaluationOutcome& outcome_;
  CallMeter candidate_meter_, session_meter_;
  Deadline deadline_;
  bool has_drawn_inputs_ = false;
  uint64_t drawn_number_ = 0;  // number of the contents drawn last
  uint32_t set_ = 0;
  std::optional<Undisturbed> undisturbed_;
  std::chrono::milliseconds slowest_{0};  // slowest call so far, rounded up; 0: none
};

}  // namespace warpsmith::sandbox
