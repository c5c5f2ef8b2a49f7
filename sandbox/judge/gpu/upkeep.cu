// SPDX-License-Identifier: Apache-2.0
// Kernels for poison, guard zones, content hashes, profiles and samples of outputs.
#include "sandbox/judge/gpu/kernel_orders.hpp"

namespace warpsmith::sandbox {
namespace {

__device__ uint64_t thread_number() {
  return uint64_t{blockIdx.x} * blockDim.x + threadIdx.x;
}

/// A bijective mix of all bits.
__device__ uint64_t mixed(uint64_t x) {
  x = (x ^ (x >> 33U)) * 0xFF51AFD7ED558CCDULL;
  x = (x ^ (x >> 29U)) * 0xC4CEB9FE1A85EC53ULL;
  return x ^ (x >> 32U);
}

__device__ uint64_t word_of(const HashOrder& order, uint64_t index) {
  if (8 * index + 8 <= order.bytes) return static_cast<const uint64_t*>(order.in)[index];
  const auto* bytes = static_cast<const unsigned char*>(order.in);
  uint64_t word = 0;
  for (uint64_t i = 8 * index; i < order.bytes; ++i) word = (word << 8U) | bytes[i];
  return word;
}

}  // namespace

/// A thread writes 8 bytes at a time.
extern "C" __global__ void warpsmith_pattern(PatternOrder order) {
  const uint64_t threads = uint64_t{gridDim.x} * blockDim.x;
  for (uint64_t at = 8 * thread_number(); at < order.bytes; at += 8 * threads) {
    if (at + 8 <= order.bytes) {
      static_cast<uint64_t*>(order.out)[at / 8] = order.pattern;
      continue;
    }
    auto* out = static_cast<unsigned char*>(order.out);
    for (uint64_t i = at; i < order.bytes; ++i) {
      out[i] = static_cast<unsigned char>(order.pattern >> (8 * (i - at)));
    }
  }
}

/// A thread reads 16 bytes at a time where they lie together.
extern "C" __global__ void warpsmith_check_guards(GuardOrder order) {
  const uint64_t threads = uint64_t{gridDim.x} * blockDim.x;
  const unsigned word = 0x01010101U * order.value;
  bool same = true;
  for (uint64_t at = 16 * thread_number(); at < order.bytes; at += 16 * threads) {
    const unsigned char* from = order.zone + at;
    if (at + 16 <= order.bytes && reinterpret_cast<uintptr_t>(from) % 16 == 0) {
      const uint4 four = *reinterpret_cast<const uint4*>(from);
      same = same && four.x == word && four.y == word && four.z == word && four.w == word;
      continue;
    }
    for (uint64_t i = at; i < at + 16 && i < order.bytes; ++i) {
      same = same && order.zone[i] == order.value;
    }
  }
  if (!same) atomicOr(order.changed, 1U);
}

/// Sums every word mixed with its place: independent of the order of addition, and a change of a
/// single word always changes the sum.
extern "C" __global__ void warpsmith_hash(HashOrder order) {
  const uint64_t threads = uint64_t{gridDim.x} * blockDim.x;
  unsigned long long sum = 0;
  for (uint64_t i = thread_number(); i < (order.bytes + 7) / 8; i += threads) {
    const uint64_t place = mixed(order.salt + i + 1);
    sum += mixed((word_of(order, i) ^ order.key) + place);
  }
  for (unsigned step = 16; step > 0; step /= 2) sum += __shfl_down_sync(0xFFFFFFFFU, sum, step);
  if (threadIdx.x % 32 == 0) atomicAdd(order.hash, sum);
}

/// One warp per block.
extern "C" __global__ void warpsmith_profile(ProfileOrder order) {
  const uint64_t entry = thread_number() / 32;
  const uint64_t first = entry * order.block;
  if (first >= order.count) return;
  const uint64_t end = first + order.block < order.count ? first + order.block : order.count;
  float most = 0;
  for (uint64_t i = first + threadIdx.x % 32; i < end; i += 32) {
    most = raised(most, order.spread[i]);
  }
  for (unsigned step = 16; step > 0; step /= 2) {
    most = raised(most, __shfl_xor_sync(0xFFFFFFFFU, most, step));
  }
  if (threadIdx.x % 32 == 0) order.out[entry] = most;
}

/// Samples a candidate's outputs while it may still be running.
extern "C" __global__ void warpsmith_gather(GatherOrder order) {
  const uint64_t i = thread_number();
  if (i >= order.count) return;
  const GatherPlace place = order.places[i];
  // Volatile: bypasses this multiprocessor's cache to see the latest writes of others.
  const volatile unsigned char* at = order.from + place.offset;
  uint64_t value = 0;
  for (uint64_t b = 0; b < place.bytes; ++b) value |= uint64_t{at[b]} << (8 * b);
  order.out[i] = value;
}

}  // namespace warpsmith::sandbox
