// SPDX-License-Identifier: Apache-2.0
// The reference worker of an evaluator: started, tasks measured and loaded by it.
#include <algorithm>

#include "runtime/log.hpp"
#include "sandbox/evaluator/evaluator_state.hpp"
#include "sandbox/reference/ragged.hpp"

namespace warpsmith::sandbox {
namespace {

constexpr std::chrono::seconds worker_start_patience{120};  // importing torch on a loaded machine
constexpr int loading_share = 5;  // of the time for an ingest, one part is for loading the task

}  // namespace

Result<ReferenceWorker*> Evaluator::State::ready_worker(Deadline deadline) {
  if (worker && worker->alive()) return &*worker;
  worker.reset();
  tell("starting the reference worker");
  const auto patience = std::min<std::chrono::milliseconds>(deadline.left(), worker_start_patience);
  const auto turns = gpu ? gpu->open_lease() : UniqueFd{};
  if (!turns) return tl::unexpected(turns.error());
  WorkerOptions wanted{.python = options.python,
                       .folder = options.worker_folder,
                       .cache_folder = options.cache_folder,
                       .core = options.core};
  if (gpu) {
    wanted.gpu = gpu->access();
    wanted.turns = turns->get();
  }
  auto started = ReferenceWorker::start(wanted, Deadline::after(patience));
  if (!started) return tl::unexpected(started.error());
  worker.emplace(std::move(*started));
  return &*worker;
}

/// From the worker at hand. A further baseline that is dropped with it costs a fresh one, no try.
Result<IngestRecord> Evaluator::State::ingested(const Task& task, IngestScope scope,
                                                Deadline deadline) {
  FurtherBaselines& wanted = further_of(task);
  const size_t before = wanted.left().size();
  const IngestJob job{.worker = *worker,
                      .machine = machine,
                      .task = task,
                      .progress = progress,
                      .make_bench = [this](const TaskSignature& s) { return make_bench(s); },
                      .lease = [this](Deadline by) { return lease(by); },
                      .scope = scope,
                      .on_device = gpu != nullptr,
                      .budget = options.ingest_timeout,
                      .further = &wanted};
  auto record = ingest_task(job, deadline);
  if (record || wanted.left().size() == before) return record;
  worker.reset();  // its state is unknown
  auto fresh = ready_worker(deadline);
  return fresh ? ingested(task, scope, deadline) : tl::unexpected(std::move(fresh.error()));
}

/// One try, or the last. Where the fault can only be the task's own the code is `invalid_argument`:
/// it outlasts what an ingest may take, or ended a fresh worker too.
Result<IngestRecord> Evaluator::State::measure(const Task& task, IngestScope scope,
                                               Deadline deadline, bool last) {
  auto ready = ready_worker(deadline);
  if (!ready) return tl::unexpected(ready.error());
  const std::vector<Baseline> timed_too =
      scope == IngestScope::whole ? options.further : std::vector<Baseline>{};
  const std::string key = record_key(task, machine.key(), (*ready)->stack(), scope, timed_too);
  if (auto known = read_record(facts_folder(), key)) return std::move(*known);
  make_room_for(task);
  auto record = ingested(task, scope, deadline);
  if (!record) {
    Error why = named(record.error(), task);
    const bool too_long = why.code == ErrorCode::timeout && !deadline.passed();
    if (too_long) {
      why.message += "; sandbox.limits.ingest is " +
                     std::to_string(options.ingest_timeout.count() / 1000) +
                     " s, a fifth of it for loading";
    }
    const bool ended = !worker || !worker->alive();
    if (too_long || (last && ended)) why.code = ErrorCode::invalid_argument;
    worker.reset();  // its state is unknown
    return tl::unexpected(std::move(why));
  }
  if (auto written = write_record(facts_folder(), key, *record); !written) {
    log::warn("kept in memory alone: " + written.error().message);
  }
  return record;
}

Result<const IngestRecord*> Evaluator::State::record_of(const Task& task, Deadline deadline) {
  auto shown = record_of(task, IngestScope::whole, deadline);
  const auto ragged = ragged_task(task);
  if (!shown || !ragged) return shown;
  if (auto fit = ragged_record_of(*ragged, **shown, deadline); !fit) {
    return tl::unexpected(named(std::move(fit.error()), task));
  }
  return shown;
}

Result<const IngestRecord*> Evaluator::State::record_of(const Task& task, IngestScope scope,
                                                        Deadline deadline) {
  const std::string key = task_key(task);
  auto found = tasks.records.find(key);
  if (found == tasks.records.end()) {
    auto record = measure(task, scope, deadline, false);
    // A worker that died may have been another task's fault: one more try with a fresh one.
    const bool ours = !record && record.error().code != ErrorCode::invalid_argument;
    if (ours && !deadline.passed()) record = measure(task, scope, deadline, true);
    if (!record) return tl::unexpected(record.error());
    found = tasks.records.emplace(key, std::move(*record)).first;
  }
  if (!found->second.refusal.empty()) {
    return tl::unexpected(named({ErrorCode::invalid_argument, found->second.refusal}, task));
  }
  return &found->second;
}

/// One try, or the last, judged as in `measure`.
Result<TaskSignature> Evaluator::State::load_signature(const Task& task, Deadline deadline,
                                                       bool last) {
  auto ready = ready_worker(deadline);
  if (!ready) return tl::unexpected(ready.error());
  tell(task.id + ": loading the task");
  const auto patience = std::min(deadline.left(), options.ingest_timeout / loading_share);
  auto loaded = (*ready)->signature(task, Deadline::after(patience));
  if (loaded) return loaded;
  Error why = named(loaded.error(), task);
  if (why.code == ErrorCode::invalid_argument) return tl::unexpected(std::move(why));
  const bool too_long = why.code == ErrorCode::timeout && !deadline.passed();
  if (too_long || (last && !(*ready)->alive())) why.code = ErrorCode::invalid_argument;
  worker.reset();  // its state is unknown
  return tl::unexpected(std::move(why));
}

Result<const TaskSignature*> Evaluator::State::signature_of(const Task& task, Deadline deadline) {
  const std::string key = task_key(task);
  auto found = tasks.signatures.find(key);
  if (found == tasks.signatures.end()) {
    auto loaded = load_signature(task, deadline, false);
    const bool ours = !loaded && loaded.error().code != ErrorCode::invalid_argument;
    if (ours && !deadline.passed()) loaded = load_signature(task, deadline, true);
    if (!loaded) return tl::unexpected(std::move(loaded.error()));
    found = tasks.signatures.emplace(key, std::move(*loaded)).first;
  }
  return &found->second;
}

/// The worker holds the task, and its compiled and further baselines where those are to be timed:
/// the first time in a worker's life that takes seconds.
Result<ReferenceWorker*> Evaluator::State::worker_with(const EvaluateRequest& request,
                                                       const IngestRecord& record,
                                                       Deadline deadline) {
  auto ready = ready_worker(deadline);
  if (!ready) return ready;
  make_room_for(request.task);
  auto loaded = (*ready)->load(request.task, deadline);
  if (!loaded) return tl::unexpected(loaded.error());
  if (!is_timed(request)) return ready;
  const bool first = !loaded->compiled;
  if (first) {
    tell(request.task.id + ": torch.compile, for this process's first timing");
    auto compiled = (*ready)->compile(request.task, Baseline::compiled, deadline);
    if (!compiled) return tl::unexpected(compiled.error());
  }
  FurtherBaselines& wanted = further_of(request.task, record);
  auto made = make_ready(**ready, request.task, wanted, deadline, first ? progress : Progress{});
  if (!made) return tl::unexpected(std::move(made.error()));
  return ready;
}

}  // namespace warpsmith::sandbox
