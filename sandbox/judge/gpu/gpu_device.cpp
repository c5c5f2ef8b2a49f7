// SPDX-License-Identifier: Apache-2.0
#include "sandbox/judge/gpu/gpu_device.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <vector>

#include "runtime/cuda/device_error.hpp"
#include "sandbox/judge/gpu/kernel_orders.hpp"

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
          .profile = upkeep.function("warpsmith_profile"),
          .gather = upkeep.function("warpsmith_gather")};
}

Result<cuda::Gpu> facts_of(int gpu) {
  TRY(const auto driver, cuda::Driver::load());
  TRY(auto gpus, driver.gpus());
  const auto found =
      std::find_if(gpus.begin(), gpus.end(), [gpu](const cuda::Gpu& g) { return g.index == gpu; });
  if (found == gpus.end()) return fail(ErrorCode::not_found, fmt::format("no GPU number {}", gpu));
  return *found;
}

/// Identifies the GPU for the operator.
std::string named(const cuda::Gpu& gpu) {
  return fmt::format("number {}, {} at {}", gpu.index, gpu.name, gpu.bus_address);
}

constexpr uint64_t copied_bytes = 256ULL << 20U;  // larger than any cache
constexpr uint64_t cached_bytes = 8ULL << 20U;    // fits the cache of every supported device
constexpr int repeats = 16;

/// The rate of `work`, which moves `bytes`: the best of a few tries, in 10^9 bytes per second.
template <class Work>
double best_rate(const GpuDevice& device, CUstream stream, double bytes, Work work) {
  const cuda::Api& api = device.context().api();
  const cuda::Event start = cuda::make_event(api), end = cuda::make_event(api);
  double best = 0;
  for (int i = 0; i < 5; ++i) {
    cuda::check(api, api.cuEventRecord(start.get(), stream), "cuEventRecord");
    for (int k = 0; k < repeats; ++k) work();
    cuda::check(api, api.cuEventRecord(end.get(), stream), "cuEventRecord");
    cuda::check(api, api.cuEventSynchronize(end.get()), "cuEventSynchronize");
    float ms = 0;
    cuda::check(api, api.cuEventElapsedTime(&ms, start.get(), end.get()), "cuEventElapsedTime");
    best = std::max(best, repeats * bytes / std::max<double>(ms, 1e-3) / 1e6);
  }
  return best;
}

/// The nominal rate; a fused multiply-add counts as two.
double nominal_gflops(const GpuDevice& device) {
  const cuda::Gpu& facts = device.facts();
  const bool narrow = facts.capability_major == 8 && facts.capability_minor == 0;
  const double lanes = narrow ? 64 : 128;  // of float32 per multiprocessor
  const double khz = device.context().attribute(CU_DEVICE_ATTRIBUTE_CLOCK_RATE);
  return 2 * lanes * facts.multiprocessors * khz / 1e6;
}

}  // namespace

Result<std::shared_ptr<GpuVerifier>> GpuVerifier::open(int gpu) {
  TRY(auto facts, facts_of(gpu));
  TRY(auto context, cuda::Context::open(gpu));
  try {
    auto device = std::make_shared<GpuDevice>(std::move(context), std::move(facts));
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

MachineLimits GpuDevice::measure_limits() const {
  const cuda::DeviceMemory from{api(), copied_bytes}, to{api(), copied_bytes};
  const auto copied = [&] { copy(to.address(), from.address(), copied_bytes); };
  const auto written = [&] { set_bytes(to.address(), 0, cached_bytes); };
  return {.cache_gbytes_per_s = best_rate(*this, stream_.get(), cached_bytes, written),
          .memory_gbytes_per_s = best_rate(*this, stream_.get(), 2.0 * copied_bytes, copied),
          .gflops_per_s = nominal_gflops(*this)};
}

bool GpuDevice::computes_right() const {
  constexpr uint64_t bytes = self_test_elements * sizeof(float);
  const cuda::DeviceMemory values{api(), bytes};
  const FillOrder order{.distribution = Distribution::normal,
                        .count = self_test_elements,
                        .out = device_pointer<void>(values.address())};
  launch(kernels_.fill.front(), self_test_elements / tile_elements * 32, order);
  std::vector<uint64_t> words(bytes / sizeof(uint64_t));
  download(words.data(), values.address(), bytes);
  return sum_of_self_test(words) == self_test_sum;
}

}  // namespace warpsmith::sandbox
