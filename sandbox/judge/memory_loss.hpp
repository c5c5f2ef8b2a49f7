// SPDX-License-Identifier: Apache-2.0
// What free device memory tells after a candidate that ended badly. Neighbours allocate without the
// lease, gigabytes at a time: less than before alone proves nothing.
#pragma once

#include <cstdint>

namespace warpsmith::sandbox {

enum class MemoryLoss : uint8_t {
  none,
  some,       // a neighbour's, or not given back: told, held against nobody
  crippling,  // too little is left for the next candidate's process
};

/// What contexts of others' warm launchers may take meanwhile.
inline constexpr uint64_t others_bytes = 2ULL << 30U;
/// What a candidate's process takes before its first call: a context, a library's workspace.
inline constexpr uint64_t process_bytes = 1ULL << 30U;

/// Bytes that nobody held before the candidate ran, and now.
constexpr MemoryLoss memory_loss(uint64_t free_before, uint64_t free_now) {
  if (free_now + others_bytes >= free_before) return MemoryLoss::none;
  return free_now < process_bytes ? MemoryLoss::crippling : MemoryLoss::some;
}

}  // namespace warpsmith::sandbox
