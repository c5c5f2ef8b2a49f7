// SPDX-License-Identifier: Apache-2.0
// Measures the rate of complete evaluations of some slots, and the time of each phase.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "commands/bench/kernel_sources.hpp"
#include "actors/sandbox/sandbox_backend.hpp"

namespace warpsmith::commands {
using namespace actors;

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
  std::optional<double> widest_gap_us;         // between events and clock (see clock_gap.hpp)
  std::map<std::string, int64_t> verdicts;     // class or kind of failure → count
  std::map<std::string, PhaseFigures> phases;  // and "other": what no phase covers
  std::vector<std::string> not_passed;         // task, number of the style, feedback

  /// `phases` with the keys of the benches' JSON: ms, median_ms, share.
  std::map<std::string, std::map<std::string, double>> phase_table() const;
};

/// Each slot ingests every task and evaluates it once uncounted (its worker then has the baselines
/// loaded); then all together measure `evaluations` complete ones over tasks and styles in turn.
/// Needs at least one slot; each runs on a thread of its own. Reports and skips refused tasks.
Result<EvaluationFigures> measure_evaluations(const std::vector<SandboxBackendFactory>& slots,
                                              const EvaluationLoad& load);

}  // namespace warpsmith::commands
