// SPDX-License-Identifier: Apache-2.0
// Compares outputs. A thread takes `pool` neighbours at a time, so that their deviations are
// averaged in the same order as on the host.
#include "sandbox/judge/gpu/kernel_orders.hpp"

namespace warpsmith::sandbox {
namespace {

template <class T>
struct alignas(pool * sizeof(T) < 16 ? pool * sizeof(T) : 16) Group {
  T values[pool];
};

/// Elements first … first + width − 1; the others are zero.
template <class T>
__device__ Group<T> load(const void* in, uint64_t first, uint64_t width) {
  const T* from = static_cast<const T*>(in) + first;
  if (width == pool) return *reinterpret_cast<const Group<T>*>(from);
  Group<T> group = {};
  for (uint64_t i = 0; i < width; ++i) group.values[i] = from[i];
  return group;
}

__device__ uint64_t thread_number() {
  return uint64_t{blockIdx.x} * blockDim.x + threadIdx.x;
}

/// Calls `judge(first, width)` for this thread's share of the groups.
template <class Judge>
__device__ void each_group(uint64_t count, const Judge& judge) {
  const uint64_t threads = uint64_t{gridDim.x} * blockDim.x;
  for (uint64_t first = thread_number() * pool; first < count; first += threads * pool) {
    judge(first, count - first < pool ? count - first : pool);
  }
}

/// Sums a warp's results; its first thread adds them to the tally.
__device__ void report(const ErrorStats& stats, Tally& tally) {
  ErrorStats sum = stats;
  for (unsigned step = 16; step > 0; step /= 2) {
    const auto from = [&](auto value) { return __shfl_down_sync(0xFFFFFFFFU, value, step); };
    sum.add({from(sum.worst), from(sum.wrong), from(sum.nonfinite), from(sum.undefined),
             from(sum.undecided), 0});
  }
  if (threadIdx.x % 32 != 0) return;
  if (sum.worst > 0) atomicMax(&tally.worst, bits_as<unsigned long long>(sum.worst));
  if (sum.wrong > 0) atomicAdd(&tally.wrong, sum.wrong);
  if (sum.nonfinite > 0) atomicAdd(&tally.nonfinite, sum.nonfinite);
  if (sum.undefined > 0) atomicAdd(&tally.undefined, sum.undefined);
  if (sum.undecided > 0) atomicAdd(&tally.undecided, sum.undecided);
}

__device__ double least_of(const Group<float>& spread, uint64_t width) {
  double sum = 0;
  for (size_t i = 0; i < pool; ++i) {
    const auto own = static_cast<double>(spread.values[i]);
    if (i < width) sum += own * own;
  }
  return least_spread(sum, width);
}

template <class T>
__device__ void judge_by_reference(const ReferenceOrder& order) {
  ErrorStats stats;
  each_group(order.count, [&](uint64_t first, uint64_t width) {
    const auto y = load<T>(order.output, first, width);
    const auto expected = load<double>(order.expected, first, width);
    const auto spread = load<float>(order.spread, first, width);
    const double least = least_of(spread, width);
    for (size_t i = 0; i < pool; ++i) {
      if (i >= width) break;
      judge_element(as_double(y.values[i]), expected.values[i],
                    pooled_spread(static_cast<double>(spread.values[i]), least), order.scale,
                    stats);
    }
  });
  report(stats, *order.tally);
}

template <class T>
__device__ void judge_by_baseline(const BaselineOrder& order) {
  ErrorStats stats;
  each_group(order.count, [&](uint64_t first, uint64_t width) {
    const auto y = load<T>(order.output, first, width);
    const auto expected = load<T>(order.baseline, first, width);
    const double spread = profile_spread(order.profile[first / order.block]);
    for (size_t i = 0; i < pool; ++i) {
      if (i >= width) break;
      judge_element(as_double(y.values[i]), as_double(expected.values[i]), spread, order.scale,
                    stats);
    }
  });
  report(stats, *order.tally);
}

}  // namespace

extern "C" __global__ void __launch_bounds__(256)
    warpsmith_compare_with_reference(ReferenceOrder order) {
  with_type(order.dtype, [&](auto zero) { judge_by_reference<decltype(zero)>(order); });
}

extern "C" __global__ void __launch_bounds__(256)
    warpsmith_compare_with_baseline(BaselineOrder order) {
  with_type(order.dtype, [&](auto zero) { judge_by_baseline<decltype(zero)>(order); });
}

}  // namespace warpsmith::sandbox
