// SPDX-License-Identifier: Apache-2.0
// The median of some numbers.
#pragma once

#include <algorithm>
#include <cassert>
#include <span>
#include <vector>

namespace warpsmith {

/// The middle value; for an even count, the mean of the two middle ones. `values` is not empty.
inline double median(std::span<const double> values) {
  assert(!values.empty() && "median of no values");
  std::vector<double> copy(values.begin(), values.end());
  const auto middle = copy.begin() + static_cast<std::ptrdiff_t>(copy.size() / 2);
  std::nth_element(copy.begin(), middle, copy.end());
  if (copy.size() % 2 == 1) return *middle;
  return 0.5 * (*middle + *std::max_element(copy.begin(), middle));
}

}  // namespace warpsmith
