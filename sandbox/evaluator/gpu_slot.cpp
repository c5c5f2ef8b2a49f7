// SPDX-License-Identifier: Apache-2.0
#include "sandbox/evaluator/gpu_slot.hpp"

#include <thread>
#include <utility>

#include "runtime/cuda/nvml.hpp"
#include "runtime/log.hpp"
#include "sandbox/compile/cuda_toolchain.hpp"
#include "sandbox/compile/device_architecture.hpp"
#include "sandbox/judge/memory_loss.hpp"

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
  auto access = find_gpu_access(options.gpu, built_with_toolkit(), options.python);
  if (!access) return tl::unexpected(std::move(access.error()));
  auto verifier = GpuVerifier::open(options.gpu);
  if (!verifier) return tl::unexpected(std::move(verifier.error()));
  const auto driver = cuda::Driver::load();
  if (!driver) return tl::unexpected(driver.error());
  Machine machine =
      known_machine(options.cache_folder, identity_of((*verifier)->facts(), driver->cuda_version()),
                    [&] { return (*verifier)->measure_limits(); });
  std::unique_ptr<GpuSlot> slot(new GpuSlot(std::move(*verifier), std::move(machine),
                                            std::move(*access), options.lease_folder));
  if (const auto shared = slot->open_lease(); !shared) return tl::unexpected(shared.error());
  return slot;
}

std::string GpuSlot::architecture() const {
  const cuda::Gpu& gpu = verifier_->facts();
  return architecture_of(gpu.capability_major, gpu.capability_minor);
}

Result<DeviceLease> GpuSlot::lease(Deadline deadline) const {
  return DeviceLease::acquire(lease_folder_, gpu_device(verifier_->facts()), deadline);
}

Result<UniqueFd> GpuSlot::open_lease() const {
  return warpsmith::open_lease(lease_folder_, gpu_device(verifier_->facts()));
}

Result<std::unique_ptr<Bench>> GpuSlot::make_bench(const TaskSignature& signature,
                                                   uint64_t worker_bytes) {
  auto made = GpuBench::create(verifier_, signature, memory_, worker_bytes);
  if (!made) return tl::unexpected(std::move(made.error()));
  return std::move(*made);
}

bool GpuSlot::takes_much(const TaskSignature& signature, uint64_t worker_bytes) const {
  const BufferLayout one = make_layout(signature, 1, gpu_alignment);
  const uint64_t needed = total_of(gpu_region_bytes(signature, one)) + worker_bytes;
  return needed > static_cast<uint64_t>(verifier_->facts().memory_bytes) / much_share;
}

void GpuSlot::release_large_memory() {
  memory_.release_large();
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
  log::warn(what + "; other processes took it, or it did not come back");
  return {};
}

}  // namespace warpsmith::sandbox
