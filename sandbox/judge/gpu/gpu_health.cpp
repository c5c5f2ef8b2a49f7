// SPDX-License-Identifier: Apache-2.0
// Measures a device's rates and checks that it computes correctly.
#include <algorithm>
#include <vector>

#include "sandbox/judge/gpu/gpu_device.hpp"
#include "sandbox/judge/gpu/kernel_orders.hpp"
#include "sandbox/judge/gpu/self_test.hpp"

namespace warpsmith::sandbox {
namespace {

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
  return sum_of(words) == self_test_sum;
}

}  // namespace warpsmith::sandbox
