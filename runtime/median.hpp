// SPDX-License-Identifier: Apache-2.0
// The middle of some numbers.
#pragma once

#include <span>

namespace warpsmith {

/// The middle value; the mean of the two middle ones for an even count. Requires values.
double median(std::span<const double> values);

}  // namespace warpsmith
