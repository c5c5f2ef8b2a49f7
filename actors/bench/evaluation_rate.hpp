// SPDX-License-Identifier: Apache-2.0
// How many complete evaluations one slot sustains, and where their time goes.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "actors/bench/kernel_sources.hpp"
#include "actors/sandbox_backend.hpp"

namespace warpsmith::actors {

struct EvaluationLoad {
  std::vector<Task> tasks;
  KernelSources sources;  // of every task; all have as many styles
  int64_t evaluations = 0;
  /// Sources come again as they are, compiled before the clock starts; else each gets a comment of
  /// its own, so that no cache knows it.
  bool repeat_sources = false;
  std::function<void(const std::string&)> progress;  // what is being made ready; not timed
};

/// Milliseconds of one phase over all evaluations.
struct PhaseFigures {
  double per_evaluation_ms = 0;  // the mean
  double median_ms = 0;          // steadier on a loaded machine; only of evaluations that had it
  double share = 0;              // of the wall time
};

struct EvaluationFigures {
  int64_t evaluations = 0;
  double seconds = 0;  // from the first request to the last answer
  double per_second = 0;
  double median_ms = 0;                        // of one evaluation, as its caller sees it
  double median_compile_ms = 0;                // of the phase "compile"
  std::map<std::string, int64_t> verdicts;     // class or kind of failure → how many
  std::map<std::string, PhaseFigures> phases;  // and "other": what no phase covers
  std::vector<std::string> not_passed;         // task, style's number, and what was said
};

/// Ingests every task, evaluates each once uncounted (the worker then holds its baselines), and
/// measures `evaluations` complete ones over tasks and styles in turn. Fails when a task is
/// refused.
Result<EvaluationFigures> measure_evaluations(SandboxBackend& backend, const EvaluationLoad& load);

}  // namespace warpsmith::actors
