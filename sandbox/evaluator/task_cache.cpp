// SPDX-License-Identifier: Apache-2.0
#include "sandbox/evaluator/task_cache.hpp"

#include "runtime/log.hpp"
#include "sandbox/failure/retry_policy.hpp"
#include "sandbox/ingest/ingest.hpp"
#include "sandbox/reference/ragged.hpp"

namespace warpsmith::sandbox {
namespace {

constexpr int loading_share = 5;  // of the time for an ingest, one part is for loading the task

/// The baselines' kernels, unknown for one reason.
BaselineKernels unknown_kernels(const std::string& reason) {
  return {{.reason = reason}, {.reason = reason}};
}

/// As at ingest: with torch.compile, or with eager in its place.
OrFailure<void> make_compiled_ready(ReferenceWorker& worker, const Task& task,
                                    const TaskFacts& facts, Deadline deadline) {
  if (!facts.compile_reason.empty()) {
    TRY_VOID(worker.do_without_compile(task, facts.compile_reason, deadline));
    return {};
  }
  TRY(const auto made, worker.compile(task, Baseline::compiled, deadline));
  if (made.reason.empty()) return {};
  return fail(ErrorCode::process_failed, "torch.compile, which worked at ingest: " + made.reason);
}

}  // namespace

template <class T>
OrFailure<T> TaskCache::with_retries(const Task& task, Deadline deadline,
                                     const std::function<OrFailure<T>()>& attempt) {
  const FurtherBaselines& wanted = further_of(task);
  RetryPolicy policy(wanted.left().size());
  while (true) {
    auto result = attempt();
    if (result) return result;
    Failure& failure = result.error();
    const RetryDecision next = policy.after(
        {failure.blame, !deadline.passed(), wanted.left().size(), slot_.worker_ended()});
    slot_.drop_worker_after(failure);
    if (next == RetryDecision::retry) continue;
    if (next == RetryDecision::refusal) failure.blame = Blame::task;
    return tl::unexpected(named(std::move(failure), task));
  }
}

OrFailure<IngestRecord> TaskCache::measure(const Task& task, IngestScope scope, Deadline deadline) {
  TRY(auto ready, slot_.ready_worker(deadline));
  const SandboxSettings& settings = slot_.options().settings;
  IngestOptions options{.scope = scope, .numerics = settings.numerics};
  if (scope == IngestScope::whole) options.further = slot_.further();
  const std::string key = record_key(task, slot_.machine().key(), ready->stack(), options);
  if (auto known = read_record(facts_folder(), key)) return std::move(*known);
  slot_.drop_bench_of_other_task(task);
  IngestJob job{.worker = *ready,
                .machine = slot_.machine(),
                .task = task,
                .settings = settings,
                .progress = slot_.progress(),
                .make_bench = [this](const TaskSignature& s,
                                     uint64_t worker) { return slot_.make_bench(s, worker); },
                .lease = [this](Deadline by) { return slot_.lease(by); },
                .scope = scope,
                .on_device = slot_.gpu() != nullptr,
                .further = &further_of(task)};
  if (const GpuSlot* const gpu = slot_.gpu()) {
    job.memory_bytes = gpu->memory_bytes();
    job.share = [gpu] { return gpu->share(); };
    job.room = [this](Deadline by) { return slot_.room(/*much=*/true, by); };
  }
  TRY(auto record, ingest_task(job, deadline));
  if (auto written = write_record(facts_folder(), key, record); !written) {
    log::warn("not written to disk: " + written.error().message);
  }
  return record;
}

OrFailure<const IngestRecord*> TaskCache::record_of(const Task& task, Deadline deadline) {
  auto shown = record_of(task, IngestScope::whole, deadline);
  const auto ragged = ragged_task(task);
  if (!shown || !ragged) return shown;
  if (auto fit = fit_ragged(*ragged, **shown, deadline); !fit) {
    return tl::unexpected(named(std::move(fit.error()), task));
  }
  return shown;
}

OrFailure<const IngestRecord*> TaskCache::record_of(const Task& task, IngestScope scope,
                                                    Deadline deadline) {
  const std::string key = task_key(task);
  auto found = memory_.records.find(key);
  if (found == memory_.records.end()) {
    auto record =
        with_retries<IngestRecord>(task, deadline, [&] { return measure(task, scope, deadline); });
    if (!record) return tl::unexpected(std::move(record.error()));
    found = memory_.records.emplace(key, std::move(*record)).first;
  }
  if (!found->second.refusal.empty()) {
    return tl::unexpected(named(refusal(found->second.refusal), task));
  }
  return &found->second;
}

OrFailure<const IngestRecord*> TaskCache::fit_ragged(const Task& ragged, const IngestRecord& shown,
                                                     Deadline deadline) {
  TRY(auto signature, signature_of(ragged, deadline));
  const std::string why = ragged_complaint(shown.facts.signature, *signature);
  if (!why.empty()) return tl::unexpected(named(refusal(why), ragged));
  return ragged_record_of(ragged, deadline);
}

OrFailure<TaskSignature> TaskCache::load_signature(const Task& task, Deadline deadline) {
  TRY(auto ready, slot_.ready_worker(deadline));
  slot_.report(task.id + ": loading the task");
  return ready->signature(
      task, {Blame::task, slot_.options().settings.ingest_timeout / loading_share, deadline});
}

OrFailure<const TaskSignature*> TaskCache::signature_of(const Task& task, Deadline deadline) {
  const std::string key = task_key(task);
  auto found = memory_.signatures.find(key);
  if (found == memory_.signatures.end()) {
    auto loaded =
        with_retries<TaskSignature>(task, deadline, [&] { return load_signature(task, deadline); });
    if (!loaded) return tl::unexpected(std::move(loaded.error()));
    found = memory_.signatures.emplace(key, std::move(*loaded)).first;
  }
  return &found->second;
}

OrFailure<TaskDescription> TaskCache::loaded_description(const Task& task, Deadline deadline) {
  TRY(auto ready, slot_.ready_worker(deadline));
  slot_.drop_bench_of_other_task(task);
  return ready->load(task, deadline);
}

OrFailure<bool> TaskCache::has_compiled(const Task& task, Deadline deadline) {
  TRY(auto loaded, loaded_description(task, deadline));
  return loaded.compiled;
}

OrFailure<ReferenceWorker*> TaskCache::worker_with(const EvaluateRequest& request,
                                                   const IngestRecord& record, Deadline deadline) {
  TRY(auto loaded, loaded_description(request.task, deadline));
  auto ready = slot_.ready_worker(deadline);
  if (!ready || !is_timed(request)) return ready;
  const bool first = !loaded.compiled;
  if (first) {
    slot_.report(request.task.id + ": torch.compile, for this process's first timing");
    TRY_VOID(make_compiled_ready(**ready, request.task, record.facts, deadline));
  }
  FurtherBaselines& wanted = further_of(request.task, record);
  TRY_VOID(prepare_baselines(**ready, request.task, wanted, deadline,
                             first ? slot_.progress() : Progress{}));
  return ready;
}

FurtherBaselines& TaskCache::further_of(const Task& task) {
  return memory_.further.try_emplace(task_key(task), slot_.further()).first->second;
}

FurtherBaselines& TaskCache::further_of(const Task& task, const IngestRecord& record) {
  FurtherBaselines& known = further_of(task);
  for (const BaselineFacts& facts : record.further) {
    if (!facts.reason.empty()) known.drop(facts.which, facts.reason);
  }
  return known;
}

BaselineKernels TaskCache::baseline_kernels(const Task& task,
                                            const OrFailure<ReferenceWorker*>& ready,
                                            Deadline deadline) {
  const std::string key = task_key(task);
  const auto known = memory_.baseline_kernels.find(key);
  if (known != memory_.baseline_kernels.end()) return known->second;
  auto kernels = ready ? (*ready)->profile(task, deadline)
                       : OrFailure<BaselineKernels>{tl::unexpected(ready.error())};
  if (kernels) return memory_.baseline_kernels.emplace(key, std::move(*kernels)).first->second;
  slot_.drop_worker_after(kernels.error());
  return unknown_kernels(kernels.error().message);
}

}  // namespace warpsmith::sandbox
