// SPDX-License-Identifier: Apache-2.0
// Measures a task once per machine and stack, and refuses those that cannot be judged.
#pragma once

#include <functional>
#include <memory>

#include "runtime/clock.hpp"
#include "runtime/config/sandbox_config.hpp"
#include "runtime/device/lease.hpp"
#include "runtime/result.hpp"
#include "sandbox/ingest/device_turns.hpp"
#include "sandbox/ingest/mutation_gate.hpp"
#include "sandbox/judge/bench.hpp"
#include "sandbox/protocol/requests.hpp"
#include "sandbox/reference/baseline.hpp"
#include "sandbox/reference/worker.hpp"
#include "sandbox/timing/machine.hpp"

namespace warpsmith::sandbox {

/// Makes the bench of a signature next to a worker that needs so many bytes of the device.
using MakeBench =
    std::function<Result<std::unique_ptr<Bench>>(const TaskSignature&, uint64_t worker_bytes)>;
/// A bench of a CPU slot.
Result<std::unique_ptr<Bench>> make_host_bench(const TaskSignature& signature,
                                               uint64_t worker_bytes);

/// The worker, machine and task of one ingest. It times baselines, so the core must be quiet.
struct IngestJob {
  ReferenceWorker& worker;
  const Machine& machine;
  const Task& task;
  /// Numerics `paper` also takes what `strict` refuses to judge, and looks for wrong answers that
  /// the tolerance accepts.
  const SandboxSettings& settings;
  Progress progress;
  MakeBench make_bench = make_host_bench;
  /// Of the slot's device; each is empty on a slot that does not share it.
  AcquireLease lease;
  OpenShare share;
  AcquireRoom room;
  IngestScope scope = IngestScope::whole;
  bool on_device = false;     // the worker and the bench use a GPU
  uint64_t memory_bytes = 0;  // of that GPU
  /// Further baselines to make ready and time; those that fail are dropped from it. Null: none.
  FurtherBaselines* further = nullptr;
};

/// A record, possibly with a refusal. A failure blames the task if there is no room for it now, or
/// if it keeps the worker longer than its budget. After a failure that is not a refusal the worker
/// must be replaced. If a further baseline was the cause, another try runs without it.
OrFailure<IngestRecord> ingest_task(const IngestJob& job, Deadline deadline);

}  // namespace warpsmith::sandbox
