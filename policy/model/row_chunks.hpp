// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>

namespace warpsmith::policy {

/// Calls `visit(first, count)` over all rows, at most `chunk` at a time.
template <class Visit>
void for_each_chunk(int64_t rows, int64_t chunk, const Visit& visit) {
  for (int64_t first = 0; first < rows; first += chunk) {
    visit(first, std::min(chunk, rows - first));
  }
}

}  // namespace warpsmith::policy
