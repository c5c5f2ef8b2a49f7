// SPDX-License-Identifier: Apache-2.0
// Measures a task once per machine and stack, and refuses those that cannot be judged.
#pragma once

#include <string>

#include "runtime/clock.hpp"
#include "runtime/result.hpp"
#include "sandbox/judge/bench.hpp"
#include "sandbox/judge/mutation_gate.hpp"
#include "sandbox/reference/progress.hpp"
#include "sandbox/reference/worker.hpp"
#include "sandbox/timing/machine.hpp"

namespace warpsmith::sandbox {

/// Perturbed evaluations behind every bound.
inline constexpr int spread_evaluations = 4;
/// Distributions that must be left for a task to be judged.
inline constexpr int least_distributions = 3;

/// The worker, machine and task of one ingest. Quiet core wanted: it times the baselines.
struct IngestJob {
  ReferenceWorker& worker;
  const Machine& machine;
  const Task& task;
  Progress progress;
  std::chrono::milliseconds budget{300'000};  // of it all; a fifth of it for the task's first runs
};

/// A record, possibly with a refusal. An error is a failure of ours, or a task that ends its
/// worker or keeps it longer than its budget (`timeout`); the worker must then be replaced.
Result<IngestRecord> ingest_task(const IngestJob& job, Deadline deadline);

/// How inputs and parameters are filled when all inputs keep to `domain`, or to the narrowest
/// wider one that the task's own values allow.
std::vector<InputRule> rules_for(const TaskDescription& description, Domain domain);

}  // namespace warpsmith::sandbox
