// SPDX-License-Identifier: Apache-2.0
// The layout of the reference worker's results in the result memory.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/task.hpp"

namespace warpsmith::sandbox {

/// One output's places, in bytes from the start of the result memory.
struct ReferencePlace {
  uint64_t value = 0;   // ŷ, float64
  uint64_t spread = 0;  // S, float32
  uint64_t count = 0;   // elements
};

/// One per output, in the signature's order: all values lie before all spreads.
std::vector<ReferencePlace> reference_places(const TaskSignature& signature);

/// The number of elements of a tensor.
uint64_t element_count(const TensorSpec& spec);

}  // namespace warpsmith::sandbox
