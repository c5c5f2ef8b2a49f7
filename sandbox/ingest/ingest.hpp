// SPDX-License-Identifier: Apache-2.0
// Measures a task once per machine and stack, and refuses those that cannot be judged.
#pragma once

#include <functional>
#include <memory>

#include "runtime/clock.hpp"
#include "runtime/result.hpp"
#include "sandbox/device/lease.hpp"
#include "sandbox/ingest/mutation_gate.hpp"
#include "sandbox/judge/bench.hpp"
#include "sandbox/protocol/progress.hpp"
#include "sandbox/reference/further_baselines.hpp"
#include "sandbox/reference/worker.hpp"
#include "sandbox/timing/machine.hpp"

namespace warpsmith::sandbox {

/// Distributions that must be left for a task to be judged.
inline constexpr int least_distributions = 3;
/// Of the bound: where honest evaluations err more, some candidate's honest one would miss it.
inline constexpr double honest_reach = 0.8;

/// Where rounding decides more elements than one in so many, too much of an output could be made
/// up.
inline constexpr size_t one_undecided_in = 1024;

using MakeBench = std::function<Result<std::unique_ptr<Bench>>(const TaskSignature&)>;
/// On a CPU slot.
Result<std::unique_ptr<Bench>> make_host_bench(const TaskSignature& signature);

/// The worker, machine and task of one ingest. Quiet core wanted: it times the baselines.
struct IngestJob {
  ReferenceWorker& worker;
  const Machine& machine;
  const Task& task;
  Progress progress;
  MakeBench make_bench = make_host_bench;
  /// Held from the first measurement on; empty where there is nothing to share.
  AcquireLease lease;
  IngestScope scope = IngestScope::whole;
  bool on_device = false;                     // the worker and the bench are a GPU's
  std::chrono::milliseconds budget{300'000};  // of it all; a fifth of it for the task's first runs
  /// Wanted ones, made ready and timed too; those that cannot be are dropped from it. None: none.
  FurtherBaselines* further = nullptr;
};

/// A record, possibly with a refusal. An error is a failure of ours, a task that ends its worker or
/// keeps it longer than its budget (`timeout`), or one without room now (`invalid_argument`); the
/// worker must then be replaced. Where a further baseline was the cause, another try goes without.
Result<IngestRecord> ingest_task(const IngestJob& job, Deadline deadline);

/// How inputs and parameters are filled when all inputs keep to `domain`, or to the narrowest
/// wider one that the task's own values allow.
std::vector<InputRule> rules_for(const TaskDescription& description, Domain domain);

}  // namespace warpsmith::sandbox
