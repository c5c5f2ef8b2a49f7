// SPDX-License-Identifier: Apache-2.0
// Measures the rate of complete evaluations of some slots, the time of each phase, and how the rate
// grows with the number of GPUs.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "actors/sandbox/sandbox_backend.hpp"
#include "commands/bench/kernel_sources.hpp"
#include "runtime/verdict.hpp"

namespace warpsmith::commands {
using namespace actors;

/// The microseconds by which the clock measured longer than the events, as the median of a
/// verdict's blocks. nullopt if nothing was timed by events.
std::optional<double> clock_gap_us(const Verdict& verdict);

struct EvaluationLoad {
  std::string contract = "cpu";
  std::vector<Task> tasks;
  KernelSources sources;  // for every task
  int64_t evaluations = 0;
  /// Submits equal texts, compiled before the clock starts. Otherwise a comment makes each text new
  /// to all caches.
  bool repeat_sources = false;
  std::function<void(const std::string&)> progress;  // prints a line; called on the slots' threads
  /// Called between evaluations; true ends the measurement with the evaluations so far.
  std::function<bool()> stop = [] { return false; };
};

/// Milliseconds of one phase, over all evaluations that ended in a verdict.
struct PhaseFigures {
  double per_evaluation_ms = 0;  // the mean
  double median_ms = 0;          // steadier on a loaded machine; over evaluations with that phase
  double share = 0;              // of the time of evaluations that ended in a verdict
};

struct EvaluationFigures {
  int64_t evaluations = 0, slots = 0;
  double seconds = 0;  // from the first request to the last answer
  double per_second = 0;
  double median_ms = 0;                        // of one evaluation, measured by its caller
  double median_compile_ms = 0;                // of the phase "compile"
  double median_held_ms = 0;                   // that the GPU was held; 0 on a CPU
  std::optional<double> widest_gap_us;         // between events and clock, see `clock_gap_us`
  std::map<std::string, int64_t> verdicts;     // class or kind of failure → count
  std::map<std::string, PhaseFigures> phases;  // and "other": what no phase covers
  std::vector<std::string> not_passed;         // task, number of the style, feedback

  /// `phases` with the keys of the benches' JSON: ms, median_ms, share.
  std::map<std::string, std::map<std::string, double>> phase_table() const;
};

/// Each slot ingests every task and evaluates it once uncounted, so that its worker has the
/// baselines loaded. Then all slots together make `evaluations` complete ones and cycle through
/// tasks and styles. Needs at least one slot; each has its own thread. Reports and skips refused
/// tasks.
Result<EvaluationFigures> measure_evaluations(const std::vector<SandboxBackendFactory>& slots,
                                              const EvaluationLoad& load);

/// The rate of several GPUs compared with that of one, in the same run.
struct GpuScaling {
  int64_t gpus = 0;
  EvaluationFigures one, all;  // `all` is empty if it was stopped before

  /// The rate of all over the rate of one; 0 if either is 0.
  double ratio() const;
  double ratio_bar() const;
  bool meets_bar() const { return ratio() >= ratio_bar(); }
};

/// Measures `load.evaluations` with the slots of the first GPU only, then as many per GPU with all
/// slots. Slot i is on GPU i % gpus; each GPU must have the same number of slots.
Result<GpuScaling> measure_scaling(const std::vector<SandboxBackendFactory>& slots, int64_t gpus,
                                   EvaluationLoad load);

}  // namespace warpsmith::commands
