// SPDX-License-Identifier: Apache-2.0
#include "sandbox/evaluator/gpu_slot.hpp"

#include <thread>
#include <utility>

#include "runtime/cuda/nvml.hpp"
#include "runtime/log.hpp"
#include "sandbox/compile/cuda_toolchain.hpp"
#include "sandbox/compile/device_architecture.hpp"
#include "sandbox/contract/device/device_recording.hpp"
#include "sandbox/judge/memory_loss.hpp"

namespace warpsmith::sandbox {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr seconds memory_patience{2};  // for the driver to take back what a killed process had

Machine identity_of(const cuda::Gpu& gpu, int cuda_version) {
  return {.name = gpu.name + ", driver for CUDA " + cuda::version_text(cuda_version),
          .cores = gpu.multiprocessors,
          .cache_mbytes = static_cast<double>(gpu.l2_bytes) / (1 << 20),
          .limits = {}};
}

/// Refers to both.
DeviceContestantSpec spec_of(const DeviceCandidate& candidate, const CandidateMemory& memory) {
  return {.plan = candidate.plan,
          .artefact = candidate.cubin,
          .layout = memory.layout,
          .inputs_fd = memory.inputs,
          .outputs_fd = memory.outputs,
          .input_bytes = memory.input_bytes,
          .output_bytes = memory.output_bytes};
}

/// A file's name; all services on this machine agree on it.
std::string lease_name(const cuda::Gpu& gpu) {
  std::string name =
      "gpu-" + (gpu.bus_address.empty() ? std::to_string(gpu.index) : gpu.bus_address);
  for (char& c : name) {
    if (c == ':' || c == '/') c = '_';
  }
  return name;
}

}  // namespace

GpuSlot::GpuSlot(std::shared_ptr<GpuVerifier> verifier, Machine machine, LauncherOptions launchers,
                 std::string lease_folder)
    : verifier_(std::move(verifier)),
      machine_(std::move(machine)),
      launchers_(std::move(launchers)),
      lease_folder_(std::move(lease_folder)) {
  auto clocks = cuda::open_clocks(verifier_->facts().bus_address);
  if (clocks) {
    clocks_ = std::move(*clocks);
  } else {
    no_clocks_ = std::move(clocks.error().message);
  }
}

Result<std::unique_ptr<GpuSlot>> GpuSlot::open(const GpuSlotOptions& options) {
  auto access = find_gpu_access(options.gpu, built_with_toolkit(), options.python);
  if (!access) return tl::unexpected(std::move(access.error()));
  auto verifier = GpuVerifier::open(options.gpu);
  if (!verifier) return tl::unexpected(std::move(verifier.error()));
  const auto driver = cuda::Driver::load();
  if (!driver) return tl::unexpected(driver.error());
  Machine machine =
      known_machine(options.cache_folder, identity_of((*verifier)->facts(), driver->cuda_version()),
                    [&] { return (*verifier)->measure_limits(); });
  LauncherOptions launchers{.program = options.program, .gpu = std::move(*access)};
  launchers.core = options.core;
  launchers.limits.cgroup_required = options.require_cgroups;
  std::unique_ptr<GpuSlot> slot(new GpuSlot(std::move(*verifier), std::move(machine),
                                            std::move(launchers), options.lease_folder));
  if (const auto shared = slot->open_lease(); !shared) return tl::unexpected(shared.error());
  return slot;
}

std::string GpuSlot::architecture() const {
  const cuda::Gpu& gpu = verifier_->facts();
  return architecture_of(gpu.capability_major, gpu.capability_minor);
}

Result<DeviceLease> GpuSlot::lease(Deadline deadline) const {
  return DeviceLease::acquire(lease_folder_, lease_name(verifier_->facts()), deadline);
}

Result<UniqueFd> GpuSlot::open_lease() const {
  return sandbox::open_lease(lease_folder_, lease_name(verifier_->facts()));
}

Result<std::unique_ptr<Bench>> GpuSlot::make_bench(const TaskSignature& signature) {
  auto made = GpuBench::create(verifier_, signature, memory_);
  if (!made) return tl::unexpected(std::move(made.error()));
  return std::move(*made);
}

void GpuSlot::release_large_memory() {
  memory_.release_large();
}

Result<void> GpuSlot::warm_up(Deadline deadline) {
  if (kept_) return {};
  if (auto filled = launchers_.refill(); !filled) return filled;
  return launchers_.settle(deadline);
}

Result<Contestant> GpuSlot::start(const DeviceCandidate& candidate, const Bench& bench,
                                  Deadline deadline) {
  const CandidateMemory memory = bench.candidate_memory();
  const DeviceContestantSpec spec = spec_of(candidate, memory);
  auto kept = std::exchange(kept_, std::nullopt);
  auto launcher = kept ? hand_over(std::move(*kept), spec, deadline)
                       : start_device_contestant(launchers_, spec, deadline);
  if (!launcher) return tl::unexpected(std::move(launcher.error()));
  socket_.emplace(std::move(launcher->socket));
  return std::move(launcher->contestant);
}

void GpuSlot::keep(Contestant contestant, Deadline deadline) {
  if (contestant.release(deadline).fault) {
    (void)contestant.process().kill();
    return;
  }
  kept_.emplace(WarmLauncher{std::move(contestant), std::move(*socket_)});
}

void GpuSlot::end_kept() {
  if (kept_) (void)kept_->contestant.process().kill();
  kept_.reset();
}

Result<PartyKernels> GpuSlot::record(const DeviceCandidate& candidate, const Bench& bench,
                                     Deadline deadline) const {
  const CandidateMemory memory = bench.candidate_memory();
  return record_device_kernels(launchers_.options(), spec_of(candidate, memory), deadline);
}

Result<void> GpuSlot::check_health(uint64_t free_before, Deadline deadline) {
  if (!verifier_->computes_right()) {
    return fail(ErrorCode::process_failed,
                "the GPU no longer computes rightly: " + verifier_->facts().name);
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
  std::string what = "device memory after a candidate that ended badly: " +
                     std::to_string(verifier_->free_memory()) + " bytes free, " +
                     std::to_string(free_before) + " before it";
  if (last == MemoryLoss::crippling) return fail(ErrorCode::process_failed, std::move(what));
  log::warn(what + "; neighbours took it, or it did not come back");
  return {};
}

}  // namespace warpsmith::sandbox
