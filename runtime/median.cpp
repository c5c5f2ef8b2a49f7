// SPDX-License-Identifier: Apache-2.0
#include "runtime/median.hpp"

#include <algorithm>
#include <cassert>
#include <vector>

namespace warpsmith {

double median(std::span<const double> values) {
  assert(!values.empty() && "median of no values");
  std::vector<double> copy(values.begin(), values.end());
  const auto middle = copy.begin() + static_cast<std::ptrdiff_t>(copy.size() / 2);
  std::nth_element(copy.begin(), middle, copy.end());
  if (copy.size() % 2 == 1) return *middle;
  return 0.5 * (*middle + *std::max_element(copy.begin(), middle));
}

}  // namespace warpsmith
