// SPDX-License-Identifier: Apache-2.0
// Turns measurements into a verdict: the only place that decides, without processes and clocks.
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "runtime/random_stream.hpp"
#include "runtime/submission.hpp"
#include "runtime/task.hpp"
#include "runtime/verdict.hpp"
#include "sandbox/failure/fault.hpp"
#include "sandbox/judge/inputs.hpp"
#include "sandbox/judge/numerics.hpp"
#include "sandbox/reference/baseline.hpp"
#include "sandbox/timing/clock_record.hpp"
#include "sandbox/timing/schedule.hpp"

namespace warpsmith::sandbox {

/// The result of one verified call.
struct VerifiedSet {
  Distribution distribution = Distribution::normal;
  std::optional<Fault> fault;
  bool inputs_changed = false;
  bool guards_changed = false;
  ErrorStats errors;
};

/// Times of one block in milliseconds, charged as in core_time.hpp, no-op subtracted.
struct TimedBlock {
  double candidate_ms = 0, eager_ms = 0, compile_ms = 0;
  double candidate_elapsed_ms = 0;  // by the clock alone; only recorded
  double candidate_clock_ms = 0;    // by the clock alone, no-op subtracted
  double candidate_waited_ms = 0;   // runnable behind others; decides nothing on a CPU
  Block order{};
  std::map<Baseline, double> further_ms;  // for those still timed
};

/// A wanted further baseline.
struct FurtherTimed {
  Baseline which = Baseline::tuned;
  std::string reason;  // why it was not timed, or not to the end; otherwise empty
  double scatter = 0;  // see reproducibility.hpp
};

/// A time for use in ratios: at least `grain_ms`, below which times cannot be measured.
inline double measurable(double ms, double grain_ms = 0) {
  return std::max({ms, grain_ms, 1e-6});
}

/// The relative variation of empty calls, one of which is subtracted from each call.
inline constexpr double grain_of_noop = 0.25;

/// Medians of the baselines on a device before a `host` candidate's code was loaded, so work that
/// its stopped process leaves running cannot have slowed them. In a ratio no baseline counts as
/// slower than this by more than `slack`. Not used on a CPU: a stopped process runs nothing there,
/// and other load affects candidate and baselines alike but not these earlier times.
struct Undisturbed {
  double eager_ms = 0, compile_ms = 0;
  double slack = 0;  // relative drift of an honest machine within an evaluation
};

struct Timings {
  bool on_device = false;  // times are the contestants' reports of a GPU's time
  double grain_ms = 0;     // below this our clock cannot measure; 0 where a device measures
  std::vector<TimedBlock> blocks;
  std::optional<Fault> fault;  // of a timed call
  ErrorStats errors;           // over all timed outputs
  bool guards_changed = false;
  // Variation of each baseline's time between evaluations: see reproducibility.hpp.
  double eager_scatter = 0, compile_scatter = 0;
  double worst_overtime_ms = 0;  // on the core after `done`: already charged, only recorded
  std::vector<FurtherTimed> further;
  std::optional<Undisturbed> undisturbed;  // for contract `host` on a device
  std::optional<ClockRecord> clocks;       // for a GPU
  std::string no_clocks;                   // why they are missing; empty on a CPU
};

/// Everything measured until the evaluation ended.
struct Measurements {
  std::optional<Fault> early;  // a failure to compile or load
  std::vector<VerifiedSet> sets;
  std::vector<VerifiedSet> strict_sets;  // by `strict`, of what numerics `paper` passed
  std::optional<Timings> timings;
};

/// The part of a verdict that `decide` determines.
struct Decision {
  VerdictClass outcome = VerdictClass::passed;
  std::string feedback;
  ShapeResult shape;
  // Set if the timing is unstable although the baselines' times agree, so the candidate's own vary.
  std::string feedback_if_still_unstable;
  std::optional<StrictResult> strict;  // only by numerics `paper`
};

/// What `strict` found. Sets end at the first that is wrong.
StrictResult strict_result(const Measurements& measured);

/// `wanted_sets`: the number of verified sets that a pass needs. `random` is for the bootstrap.
Decision decide(const Measurements& measured, const TaskFacts& facts, int wanted_sets,
                RandomStream& random);

}  // namespace warpsmith::sandbox
