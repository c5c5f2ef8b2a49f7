// SPDX-License-Identifier: Apache-2.0
// A shuffle with the same result on every machine; that of std::shuffle depends on the library.
// Pure.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "runtime/random_stream.hpp"

namespace warpsmith {

/// Fisher-Yates.
template <class T>
void shuffle(std::vector<T>& order, RandomStream& random) {
  for (size_t i = order.size(); i > 1; --i) {
    std::swap(order[i - 1], order[static_cast<size_t>(random.below(i))]);
  }
}

}  // namespace warpsmith
