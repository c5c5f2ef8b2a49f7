// SPDX-License-Identifier: Apache-2.0
#include "sandbox/evaluator/slot.hpp"

#include <algorithm>
#include <thread>

namespace warpsmith::sandbox {
namespace {

constexpr std::chrono::seconds worker_start_patience{120};  // importing torch on a loaded machine

/// Slots of one run take turns on a GPU all the time, for some hundred milliseconds each.
constexpr std::chrono::seconds usual_turn{3};

/// The most bytes of a GPU that a bench keeps while its slot is idle.
constexpr uint64_t most_idle = 2ULL << 30U;

/// How long a bench waits for memory of a GPU that other slots use, and how often it looks.
constexpr std::chrono::seconds room_patience{30};
constexpr std::chrono::milliseconds room_look{50};

/// The core must be ours to run on, and to take turns on with the slots of other runs.
Result<void> check_core(int core) {
  if (!CorePin(core).in_force()) {
    return fail(ErrorCode::unsupported,
                "core " + std::to_string(core) + " is not ours to use (sandbox.first_core)");
  }
  const auto turns = open_lease(machine_leases, core_device(core));
  return turns ? Result<void>{} : tl::unexpected(turns.error());
}

}  // namespace

Result<std::unique_ptr<Slot>> Slot::open(EvaluatorOptions options) {
  if (options.core) {
    if (auto usable = check_core(*options.core); !usable) return tl::unexpected(usable.error());
  }
  std::unique_ptr<GpuSlot> gpu;
  if (options.gpu) {
    auto opened = GpuSlot::open(
        {.gpu = *options.gpu, .python = options.python, .cache_folder = options.cache_folder});
    if (!opened) return tl::unexpected(std::move(opened.error()));
    gpu = std::move(*opened);
  }
  Machine machine = gpu ? gpu->machine() : known_machine(options.cache_folder);
  return std::unique_ptr<Slot>(new Slot(std::move(options), std::move(gpu), std::move(machine)));
}

ContractSlot Slot::for_contracts() const {
  ContractSlot seen{.options = options_};
  if (!gpu_) return seen;
  seen.gpu = &gpu_->access();
  seen.architecture = gpu_->architecture();
  return seen;
}

void Slot::tell(const std::string& what) {
  last_told_ = what;
  if (progress_) progress_(what);
}

Result<void> Slot::begin_worker() {
  if (worker_ && worker_->alive()) return {};
  worker_.reset();
  const auto turns = gpu_ ? gpu_->open_lease() : UniqueFd{};
  if (!turns) return tl::unexpected(turns.error());
  WorkerOptions wanted{.python = options_.python,
                       .folder = options_.worker_folder,
                       .cache_folder = options_.cache_folder,
                       .core = options_.core,
                       .compile_cores = options_.compile_cores};
  if (gpu_) {
    wanted.gpu = gpu_->access();
    wanted.turns = turns->get();
  }
  auto begun = ReferenceWorker::begin(wanted);
  if (!begun) return tl::unexpected(begun.error());
  worker_.emplace(std::move(*begun));
  tell("starting the reference worker");
  return {};
}

OrFailure<ReferenceWorker*> Slot::ready_worker(Deadline deadline) {
  if (auto begun = begin_worker(); !begun) return tl::unexpected(std::move(begun.error()));
  if (auto ready = worker_->ready({Blame::machine, worker_start_patience, deadline}); !ready) {
    worker_.reset();
    return tl::unexpected(std::move(ready.error()));
  }
  return &*worker_;
}

Result<std::unique_ptr<Bench>> Slot::make_bench(const TaskSignature& signature,
                                                uint64_t worker_bytes) {
  if (gpu_) return gpu_->make_bench(signature, worker_bytes);
  auto made = HostBench::create(signature, bench_memory_);
  if (!made) return tl::unexpected(made.error());
  return std::move(*made);
}

Result<Bench*> Slot::bench_of(const Task& task, const IngestRecord& record, Deadline deadline) {
  make_room_for(task);
  if (bench_) return bench_.get();
  const Deadline patience =
      Deadline::after(std::min<std::chrono::milliseconds>(room_patience, deadline.left()));
  auto made = make_bench(record.facts.signature, record.worker_bytes);
  while (!made && made.error().code == ErrorCode::capacity && !patience.passed()) {
    std::this_thread::sleep_for(room_look);
    made = make_bench(record.facts.signature, record.worker_bytes);
  }
  if (!made) return tl::unexpected(made.error());
  bench_key_ = task_key(task);
  bench_ = std::move(*made);
  return bench_.get();
}

Result<CandidateStage*> Slot::stage() {
  if (!stage_) {
    auto made = bench_->make_stage();
    if (!made) return tl::unexpected(std::move(made.error()));
    stage_ = std::move(*made);
  }
  return stage_.get();
}

void Slot::make_room_for(const Task& task) {
  if (bench_key_ != task_key(task)) drop_bench();
}

void Slot::leave_room() {
  if (!gpu_ || gpu_->bench_memory() <= most_idle) return;
  drop_bench();
  gpu_->release_memory();
}

void Slot::drop_bench() {
  bench_key_.clear();
  stage_.reset();
  bench_.reset();
  if (gpu_) gpu_->release_large_memory();
}

Result<std::optional<DeviceLease>> Slot::lease(Deadline deadline) {
  if (!gpu_ && !options_.core) return std::nullopt;
  auto held = lease_of(shared_device(), deadline);
  if (!held) return tl::unexpected(std::move(held.error()));
  return std::optional<DeviceLease>{std::move(*held)};
}

Slot::Shared Slot::shared_device() const {
  if (gpu_) {
    return {"GPU " + std::to_string(*options_.gpu) + ", which others have", usual_turn,
            [slot = gpu_.get()](Deadline by) { return slot->lease(by); }};
  }
  const std::string core = core_device(*options_.core);
  return {"core " + std::to_string(*options_.core) + ", which another run has",
          {},
          [core](Deadline by) { return DeviceLease::acquire(machine_leases, core, by); }};
}

Result<DeviceLease> Slot::lease_of(const Shared& device, Deadline deadline) {
  auto held = device.acquire(Deadline::after(std::min(device.silence, deadline.left())));
  if (held || held.error().code != ErrorCode::timeout) return held;
  const std::string before = last_told_;
  tell("waiting for " + device.name);
  held = device.acquire(deadline);
  if (held) tell(before);
  return held;
}

CheckDevice Slot::device_check() const {
  if (!gpu_) return {};
  return [slot = gpu_.get(), free_before = gpu_->free_memory()](Deadline by) {
    return slot->check_health(free_before, by);
  };
}

}  // namespace warpsmith::sandbox
