// SPDX-License-Identifier: Apache-2.0
// Samples a candidate's outputs while it may still be running.
#include "sandbox/judge/gpu/stage_orders.hpp"

namespace warpsmith::sandbox {

extern "C" __global__ void warpsmith_gather(GatherOrder order) {
  const uint64_t i = uint64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= order.count) return;
  const GatherPlace place = order.places[i];
  // Volatile: bypasses this multiprocessor's cache to see the latest writes of others.
  const volatile unsigned char* at = order.from + place.offset;
  uint64_t value = 0;
  for (uint64_t b = 0; b < place.bytes; ++b) value |= uint64_t{at[b]} << (8 * b);
  order.out[i] = value;
}

}  // namespace warpsmith::sandbox
