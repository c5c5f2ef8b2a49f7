// SPDX-License-Identifier: Apache-2.0
// Everything that one evaluation measures: verified sets, timed blocks, facts about a stage.
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sandbox/failure/failure.hpp"
#include "sandbox/judge/inputs.hpp"
#include "sandbox/judge/numerics.hpp"
#include "sandbox/judge/wrong_elements.hpp"
#include "sandbox/reference/baseline.hpp"
#include "sandbox/timing/schedule.hpp"

namespace warpsmith::sandbox {

/// The result of one verified call.
struct VerifiedSet {
  Distribution distribution = Distribution::normal;
  std::optional<Fault> fault;
  bool inputs_changed = false;
  bool guards_changed = false;
  ErrorStats errors;
  std::optional<WrongReport> report;  // if `errors` are
  uint64_t redrawn = 0;  // earlier draws that were dropped, because eager was wrong on them
};

/// Times of one block in milliseconds, charged as in call_meter.hpp, no-op subtracted.
struct TimedBlock {
  double candidate_ms = 0, eager_ms = 0, compile_ms = 0;
  double candidate_elapsed_ms = 0;  // by the clock only; not charged
  double candidate_clock_ms = 0;    // by the clock only, no-op subtracted
  double candidate_waited_ms = 0;   // runnable without the core; decides nothing on a CPU
  Block order{};
  std::map<Baseline, double> further_ms;  // for those still timed
};

/// A wanted further baseline.
struct FurtherTimed {
  Baseline which = Baseline::tuned;
  std::string reason;  // why it was not timed, or not to the end; otherwise empty
  double scatter = 0;  // see speedup.hpp
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
  double grain_ms = 0;     // below this the clock cannot measure; 0 if a device measures
  std::vector<TimedBlock> blocks;
  std::optional<Fault> fault;  // of a timed call
  ErrorStats errors;           // over all timed outputs
  std::optional<WrongReport>
      report;  // on the first of them that is wrong, if it was compared exactly
  bool guards_changed = false;
  // Variation of each baseline's time between evaluations: see speedup.hpp.
  double eager_scatter = 0, compile_scatter = 0;
  double worst_overtime_ms = 0;  // on the core after `done`: already charged, only recorded
  std::vector<FurtherTimed> further;
  std::optional<Undisturbed> undisturbed;  // for contract `host` on a device
};

/// Everything measured until the evaluation ended.
struct Measurements {
  bool on_device = false;      // the candidate's kernels ran on a GPU
  std::optional<Fault> early;  // a failure to compile or load
  std::vector<VerifiedSet> sets;
  std::vector<VerifiedSet> strict_sets;  // by `strict`, of what numerics `paper` passed
  std::optional<Timings> timings;
};

/// Facts about a candidate that ran on a stage.
struct StageFacts {
  bool on_device = false;                    // its work may outlast its stop
  double reveal_ms = 0, output_copy_ms = 0;  // subtracted from its times, as is an empty call
  double noop_ms = 0;                        // all that is subtracted, including the sample
  std::vector<std::string> libraries;        // for computing, mapped after loading
  std::vector<std::string> hints;            // about its text (host_review.hpp)
  std::optional<double> share;               // of the measured time that was subtracted
  bool within_share = true;                  // false lowers the trust class
};

}  // namespace warpsmith::sandbox
