// SPDX-License-Identifier: Apache-2.0
// A candidate's own process that keeps the device's memory from the references: without a verdict
// of its own that were a failure of ours, which costs it nothing.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "runtime/clock.hpp"
#include "sandbox/commit/contestant.hpp"

namespace warpsmith::sandbox {

/// `free_at_first`: bytes that nobody held before its code was loaded; then while it lived, and now
/// that it is gone. A fault where it held more than half: an honest one holds what a call needs,
/// and what neighbours take or give back meanwhile is less.
std::optional<Fault> hog_fault(uint64_t free_at_first, uint64_t free_beside_it, uint64_t free_now);

/// Ends the candidate, and waits for two seconds at most until a driver has freed what it held.
std::optional<Fault> killed_as_hog(Contestant& candidate,
                                   const std::function<uint64_t()>& free_memory,
                                   uint64_t free_at_first, Deadline deadline);

}  // namespace warpsmith::sandbox
