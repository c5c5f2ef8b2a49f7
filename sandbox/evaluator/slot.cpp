// SPDX-License-Identifier: Apache-2.0
#include "sandbox/evaluator/slot.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <thread>
#include <utility>

#include "runtime/cuda/nvml.hpp"
#include "runtime/log.hpp"
#include "sandbox/compile/cuda_toolchain.hpp"
#include "sandbox/judge/device_memory.hpp"

namespace warpsmith::sandbox {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr uint64_t much_share = 4;     // of the memory: such tasks are evaluated one at a time
constexpr seconds memory_patience{2};  // for the driver to free a killed process's memory

Machine identity_of(const cuda::Gpu& gpu, int cuda_version) {
  return {.name = gpu.name + ", driver for CUDA " + cuda::version_text(cuda_version),
          .cores = gpu.multiprocessors,
          .cache_mbytes = static_cast<double>(gpu.l2_bytes) / (1 << 20),
          .limits = {}};
}

constexpr std::chrono::seconds worker_start_patience{120};  // importing torch on a loaded machine

/// Slots of one run take turns on a GPU all the time, for some hundred milliseconds each.
constexpr std::chrono::seconds usual_turn{3};

/// The most bytes of a GPU that a bench keeps while its slot is idle.
constexpr uint64_t most_idle = 2ULL << 30U;

/// How long a bench waits for memory of a GPU that other slots use, and how often it looks.
constexpr std::chrono::seconds room_patience{30};
constexpr std::chrono::milliseconds room_look{50};

/// This process must be allowed to run on the core, and to take turns on it with the slots of other
/// runs.
Result<void> check_core(int core) {
  if (!CorePin(core).in_force()) {
    return fail(ErrorCode::unsupported,
                fmt::format("core {} is not available to this process (sandbox.first_core)", core));
  }
  const auto turns = open_lease(default_lease_folder, core_device(core));
  return turns ? Result<void>{} : tl::unexpected(turns.error());
}

}  // namespace

GpuSlot::GpuSlot(std::shared_ptr<GpuVerifier> verifier, Machine machine, GpuAccess access,
                 std::string lease_folder)
    : verifier_(std::move(verifier)),
      machine_(std::move(machine)),
      access_(std::move(access)),
      lease_folder_(std::move(lease_folder)) {
  auto clocks = cuda::open_clocks(verifier_->facts().bus_address);
  if (clocks) {
    clocks_ = std::move(*clocks);
  } else {
    no_clocks_ = std::move(clocks.error().message);
  }
}

Result<std::unique_ptr<GpuSlot>> GpuSlot::open(const GpuSlotOptions& options) {
  TRY(auto access, find_gpu_access(options.gpu, built_with_toolkit(), options.python));
  TRY(auto verifier, GpuVerifier::open(options.gpu));
  TRY(const auto driver, cuda::Driver::load());
  Machine machine =
      known_machine(options.cache_folder, identity_of(verifier->facts(), driver.cuda_version()),
                    [&] { return verifier->measure_limits(); });
  std::unique_ptr<GpuSlot> slot(new GpuSlot(std::move(verifier), std::move(machine),
                                            std::move(access), options.lease_folder));
  TRY([[maybe_unused]] const auto turns, slot->open_lease());  // fails early if it cannot be opened
  return slot;
}

std::string GpuSlot::architecture() const {
  const cuda::Gpu& gpu = verifier_->facts();
  return architecture_of(gpu.capability_major, gpu.capability_minor);
}

Result<DeviceLease> GpuSlot::lease(Deadline deadline) const {
  return DeviceLease::acquire(lease_folder_, gpu_device(verifier_->facts()), deadline);
}

Result<DeviceShare> GpuSlot::share() const {
  return DeviceShare::open(lease_folder_, gpu_device(verifier_->facts()));
}

Result<DeviceRoom> GpuSlot::room(bool much, Deadline deadline) const {
  return acquire_room(lease_folder_, gpu_device(verifier_->facts()), much, deadline);
}

Result<UniqueFd> GpuSlot::open_lease() const {
  return warpsmith::open_lease(lease_folder_, gpu_device(verifier_->facts()));
}

Result<std::unique_ptr<Bench>> GpuSlot::make_bench(const TaskSignature& signature,
                                                   uint64_t worker_bytes) {
  TRY(auto made, GpuBench::create(verifier_, signature, memory_, worker_bytes));
  return made;
}

bool GpuSlot::needs_exclusive_gpu(const TaskSignature& signature, uint64_t worker_bytes) const {
  const BufferLayout one = make_layout(signature, 1, gpu_alignment);
  const uint64_t needed = total_of(gpu_region_bytes(signature, one)) + worker_bytes;
  return needed > memory_bytes() / much_share;
}

void GpuSlot::release_large_memory() {
  memory_.release_large();
}

Result<void> GpuSlot::check_health(uint64_t free_before, Deadline deadline) {
  if (!verifier_->computes_right()) {
    return fail(ErrorCode::process_failed,
                "the GPU no longer computes correctly: " + verifier_->facts().name);
  }
  return check_memory(free_before, deadline);
}

Result<void> GpuSlot::check_memory(uint64_t free_before, Deadline deadline) const {
  const auto loss = [&] { return memory_loss(free_before, verifier_->free_memory()); };
  const Deadline patience =
      Deadline::after(std::min<milliseconds>(memory_patience, deadline.left()));
  while (loss() == MemoryLoss::crippling && !patience.passed()) {
    std::this_thread::sleep_for(milliseconds{10});
  }
  const MemoryLoss last = loss();
  if (last == MemoryLoss::none) return {};
  std::string what =
      fmt::format("device memory after a candidate that ended badly: {} bytes free, {} before it",
                  verifier_->free_memory(), free_before);
  if (last == MemoryLoss::crippling) return fail(ErrorCode::process_failed, std::move(what));
  log::warn(what + "; other processes took it, or it did not come back");
  return {};
}

Result<std::unique_ptr<Slot>> Slot::open(SandboxOptions options) {
  TRY(auto further, further_baselines_named(options.baselines));
  if (options.core) {
    TRY_VOID(check_core(*options.core));
  }
  std::unique_ptr<GpuSlot> gpu;
  if (options.gpu) {
    TRY(auto opened,
        GpuSlot::open(
            {.gpu = *options.gpu, .python = options.python, .cache_folder = options.cache_dir}));
    gpu = std::move(opened);
  }
  return std::unique_ptr<Slot>(new Slot(std::move(options), std::move(further), std::move(gpu)));
}

ContractSlot Slot::for_contracts() const {
  ContractSlot seen{.options = options_};
  if (!gpu_) return seen;
  seen.gpu = &gpu_->access();
  seen.architecture = gpu_->architecture();
  return seen;
}

void Slot::report(const std::string& what) {
  last_report_ = what;
  if (progress_) progress_(what);
}

Result<void> Slot::begin_worker() {
  if (worker_ && worker_->alive()) return {};
  worker_.reset();
  TRY(const auto turns, gpu_ ? gpu_->open_lease() : UniqueFd{});
  WorkerOptions wanted{.python = options_.python,
                       .cache_folder = options_.cache_dir,
                       .core = options_.core,
                       .compile_cores = options_.cores};
  if (gpu_) {
    wanted.gpu = gpu_->access();
    wanted.turns = turns.get();
  }
  TRY(auto begun, ReferenceWorker::begin(wanted));
  worker_.emplace(std::move(begun));
  report("starting the reference worker");
  return {};
}

OrFailure<ReferenceWorker*> Slot::ready_worker(Deadline deadline) {
  TRY_VOID(begin_worker());
  if (auto ready = worker_->ready({Blame::machine, worker_start_patience, deadline}); !ready) {
    worker_.reset();
    return tl::unexpected(std::move(ready.error()));
  }
  return &*worker_;
}

Result<std::unique_ptr<Bench>> Slot::make_bench(const TaskSignature& signature,
                                                uint64_t worker_bytes) {
  if (gpu_) return gpu_->make_bench(signature, worker_bytes);
  TRY(auto made, HostBench::create(signature, bench_memory_));
  return made;
}

Result<Bench*> Slot::bench_of(const Task& task, const IngestRecord& record, Deadline deadline) {
  drop_bench_of_other_task(task);
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
    TRY(auto made, bench_->make_stage());
    stage_ = std::move(made);
  }
  return stage_.get();
}

void Slot::drop_bench_of_other_task(const Task& task) {
  if (bench_key_ != task_key(task)) drop_bench();
}

void Slot::release_large_bench() {
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
  if (gpu_) {
    return reported(fmt::format("GPU {}, in use by others", *options_.gpu), usual_turn, deadline,
                    [this](Deadline by) { return gpu_->lease(by); });
  }
  return reported(fmt::format("core {}, in use by another run", *options_.core), {}, deadline,
                  [core = core_device(*options_.core)](Deadline by) {
                    return DeviceLease::acquire(default_lease_folder, core, by);
                  });
}

Result<DeviceRoom> Slot::room(bool much, Deadline deadline) {
  return reported(fmt::format("memory of GPU {}, in use by others", *options_.gpu), usual_turn,
                  deadline, [this, much](Deadline by) { return gpu_->room(much, by); });
}

Result<std::optional<DeviceRoom>> Slot::room_for(const IngestRecord& record, Deadline deadline) {
  if (!gpu_) return std::nullopt;
  return room(gpu_->needs_exclusive_gpu(record.facts.signature, record.worker_bytes), deadline);
}

/// Reports a wait for `what` that is longer than `silence`.
template <class Acquire>
std::invoke_result_t<Acquire, Deadline> Slot::reported(const std::string& what,
                                                       std::chrono::milliseconds silence,
                                                       Deadline deadline, const Acquire& acquire) {
  auto held = acquire(Deadline::after(std::min(silence, deadline.left())));
  if (held || held.error().code != ErrorCode::timeout) return held;
  const std::string before = last_report_;
  report("waiting for " + what);
  held = acquire(deadline);
  if (held) report(before);
  return held;
}

CheckDevice Slot::device_check() const {
  if (!gpu_) return {};
  return [slot = gpu_.get(), free_before = gpu_->free_memory()](Deadline by) {
    return slot->check_health(free_before, by);
  };
}

}  // namespace warpsmith::sandbox
