// SPDX-License-Identifier: Apache-2.0
// Detects a candidate's process that keeps the device's memory from the references. Without a
// verdict this would count as a failure of the machine and cost the candidate nothing.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "runtime/clock.hpp"
#include "sandbox/commit/contestant.hpp"

namespace warpsmith::sandbox {

/// Free bytes of the device: before the candidate's code was loaded, while it lived, and after its
/// end. A fault if the candidate held more than half of the first; honest ones hold what a call
/// needs, and the changes by neighbours are smaller.
std::optional<Fault> hog_fault(uint64_t free_before, uint64_t free_while_alive, uint64_t free_now);

/// Kills the candidate and waits up to two seconds until the driver has freed its memory.
std::optional<Fault> killed_as_hog(Contestant& candidate,
                                   const std::function<uint64_t()>& free_memory,
                                   uint64_t free_before, Deadline deadline);

}  // namespace warpsmith::sandbox
