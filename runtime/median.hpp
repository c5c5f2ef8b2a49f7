// SPDX-License-Identifier: Apache-2.0
// The median of some numbers.
#pragma once

#include <span>

namespace warpsmith {

/// The middle value; for an even count, the mean of the two middle ones. `values` is not empty.
double median(std::span<const double> values);

}  // namespace warpsmith
