// SPDX-License-Identifier: Apache-2.0
#include "sandbox/evaluator/task_knowledge.hpp"

#include <algorithm>

#include "runtime/log.hpp"
#include "sandbox/ingest/ingest.hpp"
#include "sandbox/reference/ragged.hpp"

namespace warpsmith::sandbox {
namespace {

constexpr int loading_share = 5;  // of the time for an ingest, one part is for loading the task

/// A try with whatever worker lives, then a last one with a fresh worker: the first may have died
/// of another task's fault.
template <class T>
Result<T> tried_twice(Deadline deadline, const std::function<Result<T>(bool last)>& attempt) {
  auto result = attempt(false);
  const bool task_at_fault = !result && result.error().code == ErrorCode::invalid_argument;
  if (!result && !task_at_fault && !deadline.passed()) result = attempt(true);
  return result;
}

/// The task outlasted its own limit; time of the caller's is left.
bool is_too_long(const Error& error, Deadline deadline) {
  return error.code == ErrorCode::timeout && !deadline.passed();
}

/// Code `invalid_argument` where only the task can be at fault: it took too long, or ended a fresh
/// worker too.
Error blamed(Error error, bool too_long, bool ended_fresh_worker) {
  if (too_long || ended_fresh_worker) error.code = ErrorCode::invalid_argument;
  return error;
}

/// The baselines' kernels, unknown for one reason.
BaselineKernels unknown_kernels(const std::string& reason) {
  return {{.reason = reason}, {.reason = reason}};
}

}  // namespace

/// Uses the live worker. A worker that ended with a further baseline is replaced, which is no new
/// try: the next one goes without that baseline.
Result<IngestRecord> TaskKnowledge::ingested(const Task& task, IngestScope scope,
                                             Deadline deadline) {
  auto ready = slot_.ready_worker(deadline);
  if (!ready) return tl::unexpected(std::move(ready.error()));
  FurtherBaselines& wanted = further_of(task);
  const size_t before = wanted.left().size();
  const IngestJob job{.worker = **ready,
                      .machine = slot_.machine(),
                      .task = task,
                      .progress = slot_.progress(),
                      .make_bench = [this](const TaskSignature& s) { return slot_.make_bench(s); },
                      .lease = [this](Deadline by) { return slot_.lease(by); },
                      .scope = scope,
                      .on_device = slot_.gpu() != nullptr,
                      .budget = slot_.options().ingest_timeout,
                      .further = &wanted};
  auto record = ingest_task(job, deadline);
  if (record || wanted.left().size() == before) return record;
  slot_.drop_worker();
  return ingested(task, scope, deadline);
}

Result<IngestRecord> TaskKnowledge::measure(const Task& task, IngestScope scope, Deadline deadline,
                                            bool last) {
  auto ready = slot_.ready_worker(deadline);
  if (!ready) return tl::unexpected(ready.error());
  const std::vector<Baseline> timed_too =
      scope == IngestScope::whole ? slot_.options().further : std::vector<Baseline>{};
  const std::string key =
      record_key(task, slot_.machine().key(), (*ready)->stack(), scope, timed_too);
  if (auto known = read_record(facts_folder(), key)) return std::move(*known);
  slot_.make_room_for(task);
  auto record = ingested(task, scope, deadline);
  if (!record) {
    Error why = named(record.error(), task);
    const bool too_long = is_too_long(why, deadline);
    if (too_long) {
      why.message += "; sandbox.limits.ingest is " +
                     std::to_string(slot_.options().ingest_timeout.count() / 1000) +
                     " s, a fifth of it for loading";
    }
    const bool ended_fresh_worker = last && !slot_.has_live_worker();
    slot_.drop_worker();
    return tl::unexpected(blamed(std::move(why), too_long, ended_fresh_worker));
  }
  if (auto written = write_record(facts_folder(), key, *record); !written) {
    log::warn("kept in memory alone: " + written.error().message);
  }
  return record;
}

Result<const IngestRecord*> TaskKnowledge::record_of(const Task& task, Deadline deadline) {
  auto shown = record_of(task, IngestScope::whole, deadline);
  const auto ragged = ragged_task(task);
  if (!shown || !ragged) return shown;
  if (auto fit = fit_ragged(*ragged, **shown, deadline); !fit) {
    return tl::unexpected(named(std::move(fit.error()), task));
  }
  return shown;
}

Result<const IngestRecord*> TaskKnowledge::record_of(const Task& task, IngestScope scope,
                                                     Deadline deadline) {
  const std::string key = task_key(task);
  auto found = memory_.records.find(key);
  if (found == memory_.records.end()) {
    auto record = tried_twice<IngestRecord>(
        deadline, [&](bool last) { return measure(task, scope, deadline, last); });
    if (!record) return tl::unexpected(record.error());
    found = memory_.records.emplace(key, std::move(*record)).first;
  }
  if (!found->second.refusal.empty()) {
    return tl::unexpected(named({ErrorCode::invalid_argument, found->second.refusal}, task));
  }
  return &found->second;
}

Result<const IngestRecord*> TaskKnowledge::fit_ragged(const Task& ragged, const IngestRecord& shown,
                                                      Deadline deadline) {
  auto signature = signature_of(ragged, deadline);
  if (!signature) return tl::unexpected(std::move(signature.error()));
  const std::string why = ragged_complaint(shown.facts.signature, **signature);
  if (!why.empty()) return tl::unexpected(named({ErrorCode::invalid_argument, why}, ragged));
  return ragged_record_of(ragged, deadline);
}

Result<TaskSignature> TaskKnowledge::load_signature(const Task& task, Deadline deadline,
                                                    bool last) {
  auto ready = slot_.ready_worker(deadline);
  if (!ready) return tl::unexpected(ready.error());
  slot_.tell(task.id + ": loading the task");
  const auto patience = std::min(deadline.left(), slot_.options().ingest_timeout / loading_share);
  auto loaded = (*ready)->signature(task, Deadline::after(patience));
  if (loaded) return loaded;
  Error why = named(loaded.error(), task);
  if (why.code == ErrorCode::invalid_argument) return tl::unexpected(std::move(why));
  const bool too_long = is_too_long(why, deadline);
  const bool ended_fresh_worker = last && !(*ready)->alive();
  slot_.drop_worker();
  return tl::unexpected(blamed(std::move(why), too_long, ended_fresh_worker));
}

Result<const TaskSignature*> TaskKnowledge::signature_of(const Task& task, Deadline deadline) {
  const std::string key = task_key(task);
  auto found = memory_.signatures.find(key);
  if (found == memory_.signatures.end()) {
    auto loaded = tried_twice<TaskSignature>(
        deadline, [&](bool last) { return load_signature(task, deadline, last); });
    if (!loaded) return tl::unexpected(std::move(loaded.error()));
    found = memory_.signatures.emplace(key, std::move(*loaded)).first;
  }
  return &found->second;
}

Result<ReferenceWorker*> TaskKnowledge::worker_with(const EvaluateRequest& request,
                                                    const IngestRecord& record, Deadline deadline) {
  auto ready = slot_.ready_worker(deadline);
  if (!ready) return ready;
  slot_.make_room_for(request.task);
  auto loaded = (*ready)->load(request.task, deadline);
  if (!loaded) return tl::unexpected(loaded.error());
  if (!is_timed(request)) return ready;
  const bool first = !loaded->compiled;
  if (first) {
    slot_.tell(request.task.id + ": torch.compile, for this process's first timing");
    auto compiled = (*ready)->compile(request.task, Baseline::compiled, deadline);
    if (!compiled) return tl::unexpected(compiled.error());
  }
  FurtherBaselines& wanted = further_of(request.task, record);
  auto made =
      make_ready(**ready, request.task, wanted, deadline, first ? slot_.progress() : Progress{});
  if (!made) return tl::unexpected(std::move(made.error()));
  return ready;
}

FurtherBaselines& TaskKnowledge::further_of(const Task& task) {
  return memory_.further.try_emplace(task_key(task), slot_.options().further).first->second;
}

FurtherBaselines& TaskKnowledge::further_of(const Task& task, const IngestRecord& record) {
  FurtherBaselines& known = further_of(task);
  for (const BaselineFacts& facts : record.further) {
    if (!facts.reason.empty()) known.drop(facts.which, facts.reason);
  }
  return known;
}

BaselineKernels TaskKnowledge::baseline_kernels(const Task& task,
                                                const Result<ReferenceWorker*>& ready,
                                                Deadline deadline) {
  const std::string key = task_key(task);
  const auto known = memory_.baseline_kernels.find(key);
  if (known != memory_.baseline_kernels.end()) return known->second;
  auto kernels = ready ? (*ready)->profile(task, deadline)
                       : Result<BaselineKernels>{tl::unexpected(ready.error())};
  if (kernels) return memory_.baseline_kernels.emplace(key, std::move(*kernels)).first->second;
  if (kernels.error().code != ErrorCode::invalid_argument) slot_.drop_worker();
  return unknown_kernels(kernels.error().message);
}

}  // namespace warpsmith::sandbox
