// SPDX-License-Identifier: Apache-2.0
// The difference between a GPU's own times and the verifier's clock in a verdict's evidence.
#pragma once

#include <optional>

#include "runtime/verdict.hpp"

namespace warpsmith::commands {

/// The microseconds by which the clock measured longer than the events, as the median of a
/// verdict's blocks. nullopt if nothing was timed by events.
std::optional<double> clock_gap_us(const Verdict& verdict);

}  // namespace warpsmith::commands
