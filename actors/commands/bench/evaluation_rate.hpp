// SPDX-License-Identifier: Apache-2.0
// How many complete evaluations slots sustain, and where their time goes.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "actors/commands/bench/kernel_sources.hpp"
#include "actors/sandbox/sandbox_backend.hpp"

namespace warpsmith::actors {

struct EvaluationLoad {
  std::string contract = "cpu";
  std::vector<Task> tasks;
  KernelSources sources;  // of every task
  int64_t evaluations = 0;
  /// Sources come again as they are, compiled before the clock starts; else each gets a comment of
  /// its own, so that no cache knows it.
  bool repeat_sources = false;
  std::function<void(const std::string&)> progress;  // a line; called on the slots' threads
  /// Asked between evaluations: whether to end with those that there are.
  std::function<bool()> stop = [] { return false; };
};

/// Milliseconds of one phase over all evaluations that came to a verdict.
struct PhaseFigures {
  double per_evaluation_ms = 0;  // the mean
  double median_ms = 0;          // steadier on a loaded machine; only of evaluations that had it
  double share = 0;              // of the time that evaluations with a verdict took
};

struct EvaluationFigures {
  int64_t evaluations = 0, slots = 0;
  double seconds = 0;  // from the first request to the last answer
  double per_second = 0;
  double median_ms = 0;                        // of one evaluation, as its caller sees it
  double median_compile_ms = 0;                // of the phase "compile"
  double median_held_ms = 0;                   // of the GPU; 0 on a CPU
  std::optional<double> widest_gap_us;         // of events and clock (see clock_gap.hpp)
  std::map<std::string, int64_t> verdicts;     // class or kind of failure → how many
  std::map<std::string, PhaseFigures> phases;  // and "other": what no phase covers
  std::vector<std::string> not_passed;         // task, style's number, and what was said

  /// `phases` by the names that the benches write: ms, median_ms, share.
  std::map<std::string, std::map<std::string, double>> phase_table() const;
};

/// Each slot ingests every task and evaluates each once uncounted (its worker then holds the
/// baselines); then all together measure `evaluations` complete ones over tasks and styles in turn.
/// `slots`: at least one; each is used on a thread of its own. A refused task is left out, and
/// told.
Result<EvaluationFigures> measure_evaluations(const std::vector<SandboxBackendFactory>& slots,
                                              const EvaluationLoad& load);

}  // namespace warpsmith::actors
