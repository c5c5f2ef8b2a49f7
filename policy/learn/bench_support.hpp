// SPDX-License-Identifier: Apache-2.0
// What the measurements of this folder share.
#pragma once

#include <chrono>
#include <stdexcept>

#include "runtime/clock.hpp"
#include "runtime/result.hpp"

namespace warpsmith::policy {

inline double seconds_since(SteadyClock::time_point start) {
  return std::chrono::duration<double>(SteadyClock::now() - start).count();
}

/// Throws std::runtime_error for a call that a measurement cannot do without.
inline void must(const Result<void>& done) {
  if (!done) throw std::runtime_error("bench: " + done.error().message);
}

}  // namespace warpsmith::policy
