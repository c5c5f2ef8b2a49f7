// SPDX-License-Identifier: Apache-2.0
// Interprets free device memory after a candidate that ended badly. Neighbours allocate gigabytes
// without the lease, so less free memory alone proves nothing.
#pragma once

#include <cstdint>

namespace warpsmith::sandbox {

enum class MemoryLoss : uint8_t {
  none,
  some,       // taken by a neighbour or not freed: reported without consequence
  crippling,  // too little for the next candidate's process
};

/// Memory that the contexts of others' warm launchers may take meanwhile.
inline constexpr uint64_t others_bytes = 2ULL << 30U;
/// Memory that a candidate's process takes before its first call: a context, a library's workspace.
inline constexpr uint64_t process_bytes = 1ULL << 30U;

/// Free bytes before the candidate ran, and now.
constexpr MemoryLoss memory_loss(uint64_t free_before, uint64_t free_now) {
  if (free_now + others_bytes >= free_before) return MemoryLoss::none;
  return free_now < process_bytes ? MemoryLoss::crippling : MemoryLoss::some;
}

}  // namespace warpsmith::sandbox
