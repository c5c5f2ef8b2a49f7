// SPDX-License-Identifier: Apache-2.0
// How far a GPU's own times and the verifier's clock lie apart in a verdict's evidence.
#pragma once

#include <optional>

#include "runtime/verdict.hpp"

namespace warpsmith::actors {

/// Microseconds by which the clock saw the candidate at work longer than its events say, at the
/// median of a verdict's blocks. None where nothing was timed by events.
std::optional<double> clock_gap_us(const Verdict& verdict);

}  // namespace warpsmith::actors
