// SPDX-License-Identifier: Apache-2.0
// One evaluation of a candidate that was made ready: what it runs on, and the run.
#include <algorithm>

#include "sandbox/evaluator/evaluator_state.hpp"
#include "sandbox/judge/phase_clock.hpp"

namespace warpsmith::sandbox {
namespace {

/// Contents of an evaluation on hidden shapes are numbered from here on.
constexpr uint64_t hidden_contents = uint64_t{1} << 40U;

/// Slots of one run take turns on a GPU all the time, for some hundred milliseconds each.
constexpr std::chrono::seconds usual_turn{3};

}  // namespace

Result<std::unique_ptr<Bench>> Evaluator::State::make_bench(const TaskSignature& signature) {
  if (gpu) return gpu->make_bench(signature);
  auto made = HostBench::create(signature, bench_memory);
  if (!made) return tl::unexpected(made.error());
  return std::move(*made);
}

Result<std::optional<DeviceLease>> Evaluator::State::lease(Deadline deadline) {
  if (!gpu && !options.core) return std::nullopt;
  auto held = lease_of(shared_device(), deadline);
  if (!held) return tl::unexpected(std::move(held.error()));
  return std::optional<DeviceLease>{std::move(*held)};
}

Evaluator::State::Shared Evaluator::State::shared_device() const {
  if (gpu) {
    return {"GPU " + std::to_string(*options.gpu) + ", which others have", usual_turn,
            [slot = gpu.get()](Deadline by) { return slot->lease(by); }};
  }
  const std::string core = core_device(*options.core);
  return {"core " + std::to_string(*options.core) + ", which another run has",
          {},
          [core](Deadline by) { return DeviceLease::acquire(machine_leases, core, by); }};
}

Result<DeviceLease> Evaluator::State::lease_of(const Shared& device, Deadline deadline) {
  auto held = device.acquire(Deadline::after(std::min(device.silence, deadline.left())));
  if (held || held.error().code != ErrorCode::timeout) return held;
  const std::string before = last_told;
  tell("waiting for " + device.name);
  held = device.acquire(deadline);
  if (held) tell(before);
  return held;
}

CheckDevice Evaluator::State::device_check() const {
  if (!gpu) return {};
  return [slot = gpu.get(), free_before = gpu->free_memory()](Deadline by) {
    return slot->check_health(free_before, by);
  };
}

Result<Bench*> Evaluator::State::bench_of(const Task& task, const TaskSignature& signature) {
  make_room_for(task);
  if (bench) return bench.get();
  auto made = make_bench(signature);
  if (!made) return tl::unexpected(made.error());
  bench_key = task_key(task);
  bench = std::move(*made);
  return bench.get();
}

void Evaluator::State::make_room_for(const Task& task) {
  if (bench_key == task_key(task)) return;
  bench_key.clear();
  stage.reset();
  bench.reset();
  if (gpu) gpu->release_large_memory();
}

Result<void> Evaluator::State::warm_up(const CandidateRun& run, Deadline deadline) {
  if (run.staged) return warm_host_runner(deadline);
  return gpu ? gpu->warm_up(deadline) : Result<void>{};
}

Result<Stage*> Evaluator::State::stage_for(const CandidateRun& run) {
  if (!run.staged) return nullptr;
  if (!stage) {
    auto made = bench->make_stage();
    if (!made) return tl::unexpected(std::move(made.error()));
    stage = std::move(*made);
  }
  return stage.get();
}

Result<ReadySlot> Evaluator::State::ready_for(const EvaluateRequest& request,
                                              const IngestRecord& record, const CandidateRun& run,
                                              Deadline deadline) {
  auto ready = worker_with(request, record, deadline);
  if (!ready) return tl::unexpected(std::move(ready.error()));
  auto laid_out = bench_of(request.task, record.facts.signature);
  if (!laid_out) return tl::unexpected(std::move(laid_out.error()));
  if (auto warm = warm_up(run, deadline); !warm) return tl::unexpected(std::move(warm.error()));
  auto made = stage_for(run);
  if (!made) return tl::unexpected(std::move(made.error()));
  return ReadySlot{*ready, *laid_out, *made};
}

EvaluationJob Evaluator::State::job_of(const EvaluateRequest& request, const IngestRecord& record,
                                       const CandidateRun& run, const SecretSeed& seed,
                                       const ReadySlot& ready, Shapes shapes) {
  const bool hidden = shapes == Shapes::hidden;
  Bench& on = *ready.bench;
  return {.task = request.task,
          .record = record,
          .bench = on,
          .seed = seed,
          .worker = *ready.worker,
          .start_candidate = [&run, &on](Deadline by) { return run.start(on, by); },
          .keep_candidate = hidden ? run.keep : KeepCandidate{},
          .lease = [this](Deadline by) { return lease(by); },
          .check_device = device_check(),
          .free_memory = gpu ? std::function<uint64_t()>{[this] { return gpu->free_memory(); }}
                             : std::function<uint64_t()>{},
          .on_device = gpu != nullptr,
          .stage = ready.stage,
          .call_timeout = options.call_timeout,
          .verified_sets = options.verified_sets,
          .timed_blocks = options.timed_blocks,
          .timed = is_timed(request),
          .further = &further_of(request.task, record),
          .clocks = gpu ? gpu->clocks() : nullptr,
          .no_clocks = gpu ? gpu->no_clocks() : "",
          .own = counted(),
          .contents_before = hidden ? hidden_contents : 0,
          .numerics = options.numerics};
}

Result<EvaluationOutcome> Evaluator::State::attempt(const EvaluateRequest& request,
                                                    const IngestRecord& record,
                                                    const CandidateRun& run, const SecretSeed& seed,
                                                    Shapes shapes, Deadline deadline) {
  std::map<std::string, double> phases;
  Result<ReadySlot> ready = ReadySlot{};
  {
    const PhaseClock clock(phases, "prepare");
    ready = ready_for(request, record, run, deadline);
  }
  if (!ready) return tl::unexpected(std::move(ready.error()));
  tell(request.task.id + (is_timed(request) ? ": verifying and timing" : ": verifying"));
  auto outcome = run_evaluation(job_of(request, record, run, seed, *ready, shapes), deadline);
  if (outcome) outcome->phase_ms.merge(phases);
  return outcome;
}

}  // namespace warpsmith::sandbox
