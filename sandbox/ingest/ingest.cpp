// SPDX-License-Identifier: Apache-2.0
#include "sandbox/ingest/ingest.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <thread>

#include "runtime/text.hpp"
#include "sandbox/ingest/ingest_session.hpp"
#include "sandbox/judge/host_bench.hpp"
#include "sandbox/judge/seed.hpp"

namespace warpsmith::sandbox {
namespace {

using std::chrono::milliseconds;

constexpr int loading_share = 5;   // loading may take a fifth of the budget
constexpr int compiling_part = 2;  // torch.compile half of it

/// A task whose tensors take a larger part of the GPU's memory is alone there among such tasks:
/// an ingest takes four times as much and more, and those of other slots run beside it.
constexpr uint64_t large_part = 64;

/// A task that lacks room waits for other slots, which hold memory only while they work.
constexpr std::chrono::seconds room_patience{60};
constexpr std::chrono::seconds room_pause{2};

/// Names the phase in which the worker failed, unless the failure is a refusal.
Failure failed_in(const std::string& phase, Failure failure, milliseconds patience,
                  const IngestJob& job) {
  if (failure.is_refusal()) return failure;
  if (failure.code == ErrorCode::timeout) {
    failure.message = "the reference worker did not answer within " + duration_text(patience);
    if (failure.blame == Blame::task) {
      failure.message += "; sandbox.limits.ingest is " +
                         duration_text(job.settings.ingest_timeout) + ", a fifth of it for loading";
    }
  }
  failure.message = phase + ": " + failure.message;
  return failure;
}

/// A refusal becomes a record, which lasts.
OrFailure<IngestRecord> refused_or(Failure failure) {
  if (!failure.is_refusal()) return tl::unexpected(std::move(failure));
  IngestRecord record;
  record.refusal = std::move(failure.message);
  return record;
}

/// Waits for turns take nothing from `budget`.
OrFailure<IngestRecord> measure(const IngestJob& job, const TaskDescription& description,
                                milliseconds budget, Deadline deadline) {
  DeviceTurns turns(job.lease, job.share, budget, deadline);
  TRY_VOID(turns.compute());
  const Patience& patience = turns.patience();
  TRY(auto bench, job.make_bench(description.signature, description.worker_bytes));
  const SecretSeed seed;  // no secret: equal tasks get equal records
  TRY(auto session, enter_with_baselines(job.worker, job.task, bench->session_memory(),
                                         {spread_evaluations, seed.seed}, *job.further, patience));
  TRY_VOID(session.calibrate(patience));
  IngestSession ingest(job, description, *bench, session, *job.further, turns);
  auto record = ingest.run(seed.key());
  if (!record) {
    const Failure cause = job.worker.with_cause(record.error(), session);
    return tl::unexpected(failed_in(ingest.phase(), cause, budget, job));
  }
  TRY_VOID(session.leave(patience));
  TRY_VOID(job.worker.finish(patience));
  return record;
}

/// Makes the timed baselines ready and measures. `job.further` is set.
OrFailure<IngestRecord> measure_whole(const IngestJob& job, const TaskDescription& description,
                                      Patience patience, Deadline deadline) {
  if (job.progress) job.progress(job.task.id + ": torch.compile");
  const auto most = patience.by.left();
  auto compiled = job.worker.compile(job.task, Baseline::compiled, patience, most / compiling_part);
  if (!compiled) return refused_or(failed_in("torch.compile", compiled.error(), most, job));
  std::map<Baseline, double> seconds;
  auto ready =
      prepare_baselines(job.worker, job.task, *job.further, patience, job.progress, &seconds);
  if (!ready) return tl::unexpected(std::move(ready.error()));
  TRY(auto record, measure(job, description, patience.by.left(), deadline));
  for (BaselineFacts& facts : record.further) facts.seconds = seconds[facts.which];
  if (!compiled->reason.empty()) record.facts.compile_reason = compiled->reason;
  return record;
}

}  // namespace

Result<std::unique_ptr<Bench>> make_host_bench(const TaskSignature& signature, uint64_t) {
  TRY(auto made, HostBench::create(signature));
  return made;
}

namespace {

/// `capacity` if the device has no room.
OrFailure<IngestRecord> load_and_measure(const IngestJob& job, Deadline deadline) {
  const Patience whole{Blame::task, job.settings.ingest_timeout, deadline};
  const Patience first{Blame::task, job.settings.ingest_timeout / loading_share, deadline};
  const auto most = first.by.left();
  auto description = job.worker.load(job.task, first);
  if (!description && description.error().code == ErrorCode::capacity) {
    return tl::unexpected(description.error());
  }
  if (!description) return refused_or(failed_in("loading", description.error(), most, job));
  if (job.scope == IngestScope::whole) return measure_whole(job, *description, whole, deadline);
  return measure(job, *description, whole.by.left(), deadline);
}

bool lacks_room(const OrFailure<IngestRecord>& record) {
  return !record && record.error().code == ErrorCode::capacity;
}

/// The same while no other large task is on the device.
OrFailure<IngestRecord> load_and_measure_with_room(const IngestJob& job, Deadline deadline) {
  TRY(const auto room, job.room(deadline));
  return load_and_measure(job, deadline);
}

OrFailure<IngestRecord> ingest_on_device(const IngestJob& job, Deadline deadline) {
  const Patience sizing{Blame::task, job.settings.ingest_timeout / loading_share, deadline};
  const auto most = sizing.by.left();
  const auto bytes = job.worker.size(job.task, sizing);
  if (!bytes) return refused_or(failed_in("loading", bytes.error(), most, job));
  const bool large = *bytes > job.memory_bytes / large_part;
  auto record = large ? load_and_measure_with_room(job, deadline) : load_and_measure(job, deadline);
  const Deadline until = Deadline::after(std::min<milliseconds>(room_patience, deadline.left()));
  while (lacks_room(record) && !until.passed()) {
    std::this_thread::sleep_for(room_pause);
    record = load_and_measure_with_room(job, deadline);
  }
  return record;
}

}  // namespace

OrFailure<IngestRecord> ingest_task(const IngestJob& job, Deadline deadline) {
  FurtherBaselines none;
  IngestJob filled = job;
  if (job.progress) job.progress(job.task.id + ": loading");
  if (filled.further == nullptr || job.scope == IngestScope::verified) filled.further = &none;
  auto record = job.on_device && job.room ? ingest_on_device(filled, deadline)
                                          : load_and_measure(filled, deadline);
  if (!lacks_room(record)) return record;
  // Not recorded as a refusal: there may be room once other services leave the device.
  return tl::unexpected(refusal(record.error().message));
}

}  // namespace warpsmith::sandbox
