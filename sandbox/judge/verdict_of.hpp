// SPDX-License-Identifier: Apache-2.0
// Measurements in, verdict out: the one place that decides, free of processes and clocks.
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
#include "sandbox/commit/contestant.hpp"
#include "sandbox/judge/inputs.hpp"
#include "sandbox/judge/numerics.hpp"
#include "sandbox/reference/baseline.hpp"
#include "sandbox/timing/clock_log.hpp"
#include "sandbox/timing/schedule.hpp"

namespace warpsmith::sandbox {

/// What one verified call showed.
struct VerifiedSet {
  Distribution distribution = Distribution::normal;
  std::optional<Fault> fault;
  bool inputs_changed = false;
  bool guards_changed = false;
  ErrorStats errors;
};

/// Times of one block in milliseconds, charged as core_time.hpp says, no-op subtracted.
struct TimedBlock {
  double candidate_ms = 0, eager_ms = 0, compile_ms = 0;
  double candidate_elapsed_ms = 0;  // by the clock alone, for the record
  double candidate_clock_ms = 0;    // by the clock alone, no-op subtracted
  Block order{};
  std::map<Baseline, double> further_ms;  // of those that were still timed
};

/// A further baseline that was asked for.
struct FurtherTimed {
  Baseline which = Baseline::tuned;
  std::string reason;  // why it was not timed, or not to the end; else empty
  double scatter = 0;  // reproducibility.hpp
};

/// A time that ratios can be made of: no less than `grain_ms`, for less cannot be told.
inline double measurable(double ms, double grain_ms = 0) {
  return std::max({ms, grain_ms, 1e-6});
}

/// Empty calls differ by this share from one call to the next, and one is subtracted from each.
inline constexpr double grain_of_noop = 0.25;

/// Medians of the baselines on a device before any code of a `host` candidate was there. Whatever
/// its process leaves running while it is stopped cannot have slowed these: in a ratio no baseline
/// counts as slower by more than `slack`. Not on a CPU: nothing can be left running on its core,
/// and others' load there moves candidate and baselines alike, but not what was timed before.
struct Undisturbed {
  double eager_ms = 0, compile_ms = 0;
  double slack = 0;  // relative: what an honest machine drifts by within an evaluation
};

struct Timings {
  bool on_device = false;  // times are what the contestants say that a GPU took
  double grain_ms = 0;     // what our clock cannot tell from nothing; 0 where a device tells times
  std::vector<TimedBlock> blocks;
  std::optional<Fault> fault;  // of a timed call
  ErrorStats errors;           // of all timed outputs
  bool guards_changed = false;
  // How far each baseline's time moves between evaluations: reproducibility.hpp
  double eager_scatter = 0, compile_scatter = 0;
  double worst_overtime_ms = 0;  // on the core after `done`: already charged, kept for the record
  std::vector<FurtherTimed> further;
  std::optional<Undisturbed> undisturbed;  // of contract `host` on a device
  std::optional<ClockRecord> clocks;       // of a GPU
  std::string no_clocks;                   // why there are none; empty on a CPU
};

/// All that was measured before it ended.
struct Measurements {
  std::optional<Fault> early;  // compiling or loading failed
  std::vector<VerifiedSet> sets;
  std::optional<Timings> timings;
};

/// The decided part of a verdict.
struct Decision {
  VerdictClass outcome = VerdictClass::passed;
  std::string feedback;
  ShapeResult shape;
  // Of unstable timing where the baselines' times agree: the candidate's own differ. Its feedback
  // if they do so again.
  std::string if_it_stays;
};

/// `wanted_sets`: how many verified sets a pass needs. `random` serves the bootstrap.
Decision decide(const Measurements& measured, const TaskFacts& facts, int wanted_sets,
                RandomStream& random);

}  // namespace warpsmith::sandbox
