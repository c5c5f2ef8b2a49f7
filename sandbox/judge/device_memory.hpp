// SPDX-License-Identifier: Apache-2.0
// What a candidate's process did to the free memory of the device.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "runtime/clock.hpp"
#include "sandbox/commit/contestant.hpp"

namespace warpsmith::sandbox {

/// Detects a candidate's process that keeps the device's memory from the references. Without a
/// verdict this would count as a failure of the machine and cost the candidate nothing.
///
/// Free bytes of the device: before the candidate's code was loaded, while it lived, and after its
/// end. A fault if the candidate held more than half of the first; honest ones use what a call
/// needs, and the changes by neighbours are smaller.
std::optional<Fault> hog_fault(uint64_t free_before, uint64_t free_while_alive, uint64_t free_now);

/// Kills the candidate and waits up to two seconds until the driver has freed its memory.
std::optional<Fault> killed_as_hog(Contestant& candidate,
                                   const std::function<uint64_t()>& free_memory,
                                   uint64_t free_before, Deadline deadline);

/// Interprets free device memory after a candidate that ended badly. Neighbours allocate gigabytes
/// without the lease, so less free memory by itself proves nothing.
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
