// SPDX-License-Identifier: Apache-2.0
#include "sandbox/judge/gpu/gpu_device.hpp"

#include <algorithm>
#include <cassert>

#include "runtime/cuda/device_error.hpp"

namespace warpsmith::cuda {
extern const unsigned char bench_fill_image[];     // fill.cu
extern const unsigned char bench_compare_image[];  // compare.cu
extern const unsigned char bench_upkeep_image[];   // upkeep.cu
}  // namespace warpsmith::cuda

namespace warpsmith::sandbox {
namespace {

constexpr unsigned block_threads = 256;

BenchKernels find_kernels(const cuda::KernelModule& fill, const cuda::KernelModule& compare,
                          const cuda::KernelModule& upkeep) {
  const CUfunction normal = fill.function("warpsmith_fill_normal");
  return {.fill = {normal, fill.function("warpsmith_fill_shifted"),
                   fill.function("warpsmith_fill_wide"), normal,
                   fill.function("warpsmith_fill_sparse"), fill.function("warpsmith_fill_dense")},
          .place_huge = fill.function("warpsmith_place_huge"),
          .compare_with_reference = compare.function("warpsmith_compare_with_reference"),
          .compare_with_baseline = compare.function("warpsmith_compare_with_baseline"),
          .pattern = upkeep.function("warpsmith_pattern"),
          .check_guards = upkeep.function("warpsmith_check_guards"),
          .hash = upkeep.function("warpsmith_hash"),
          .profile = upkeep.function("warpsmith_profile")};
}

Result<cuda::Gpu> facts_of(int gpu) {
  const auto driver = cuda::Driver::load();
  if (!driver) return tl::unexpected(driver.error());
  auto gpus = driver->gpus();
  if (!gpus) return tl::unexpected(gpus.error());
  const auto found = std::find_if(gpus->begin(), gpus->end(),
                                  [gpu](const cuda::Gpu& g) { return g.index == gpu; });
  if (found == gpus->end())
    return fail(ErrorCode::not_found, "no GPU number " + std::to_string(gpu));
  return *found;
}

/// Identifies the GPU for the operator.
std::string named(const cuda::Gpu& gpu) {
  return "number " + std::to_string(gpu.index) + ", " + gpu.name + " at " + gpu.bus_address;
}

}  // namespace

Result<std::shared_ptr<GpuVerifier>> GpuVerifier::open(int gpu) {
  auto facts = facts_of(gpu);
  if (!facts) return tl::unexpected(std::move(facts.error()));
  auto context = cuda::Context::open(gpu);
  if (!context) return tl::unexpected(std::move(context.error()));
  try {
    auto device = std::make_shared<GpuDevice>(std::move(*context), std::move(*facts));
    if (!device->computes_right()) {
      return fail(ErrorCode::infrastructure, "the GPU computes wrongly: " + named(device->facts()));
    }
    return device;
  } catch (const cuda::DeviceError& error) {
    return fail(ErrorCode::infrastructure, error.what());
  }
}

GpuDevice::GpuDevice(cuda::Context context, cuda::Gpu facts)
    : context_(std::move(context)),
      facts_(std::move(facts)),
      fill_(api(), cuda::bench_fill_image),
      compare_(api(), cuda::bench_compare_image),
      upkeep_(api(), cuda::bench_upkeep_image),
      kernels_(find_kernels(fill_, compare_, upkeep_)),
      some_blocks_(16 * static_cast<uint64_t>(std::max(1, facts_.multiprocessors))),
      stream_(cuda::make_stream(api())),
      answer_(api(), answer_bytes) {}

DeviceLimits GpuDevice::device_limits() const {
  const auto limit = [this](CUdevice_attribute which) {
    return static_cast<uint32_t>(context_.attribute(which));
  };
  return {.multiprocessors = limit(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT),
          .threads = limit(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR),
          .blocks = limit(CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR),
          .registers = limit(CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR),
          .shared_bytes = limit(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR),
          .reserved_shared_bytes = limit(CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK)};
}

void GpuDevice::launch_bytes(CUfunction kernel, uint64_t threads, uint64_t most_blocks,
                             const void* order) const {
  if (threads == 0) return;
  const uint64_t blocks = std::min((threads + block_threads - 1) / block_threads, most_blocks);
  void* arguments[] = {const_cast<void*>(order)};
  cuda::check(api(),
              api().cuLaunchKernel(kernel, static_cast<unsigned>(blocks), 1, 1, block_threads, 1, 1,
                                   0, stream_.get(), arguments, nullptr),
              "cuLaunchKernel");
}

void GpuDevice::set_bytes(CUdeviceptr to, unsigned char value, uint64_t bytes) const {
  if (bytes == 0) return;
  cuda::check(api(), api().cuMemsetD8Async(to, value, bytes, stream_.get()), "cuMemsetD8Async");
}

void GpuDevice::copy(CUdeviceptr to, CUdeviceptr from, uint64_t bytes) const {
  if (bytes == 0) return;
  cuda::check(api(), api().cuMemcpyDtoDAsync(to, from, bytes, stream_.get()), "cuMemcpyDtoDAsync");
}

void GpuDevice::upload(CUdeviceptr to, const void* from, uint64_t bytes) const {
  if (bytes == 0) return;
  cuda::check(api(), api().cuMemcpyHtoDAsync(to, from, bytes, stream_.get()), "cuMemcpyHtoDAsync");
}

void GpuDevice::download(void* to, CUdeviceptr from, uint64_t bytes) const {
  if (bytes > 0) {
    cuda::check(api(), api().cuMemcpyDtoHAsync(to, from, bytes, stream_.get()),
                "cuMemcpyDtoHAsync");
  }
  synchronize();
}

void GpuDevice::synchronize() const {
  cuda::check(api(), api().cuStreamSynchronize(stream_.get()), "cuStreamSynchronize");
}

CUdeviceptr GpuDevice::zeroed_answer() const {
  set_bytes(answer_.address(), 0, answer_bytes);
  return answer_.address();
}

}  // namespace warpsmith::sandbox
