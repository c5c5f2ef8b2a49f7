// SPDX-License-Identifier: Apache-2.0
// Types of elements, and the bytes of tensors.
#pragma once

#include <cstdint>

#include "runtime/task.hpp"

namespace warpsmith::sandbox {

/// Bytes of one element.
uint64_t element_bytes(Dtype dtype);
/// False for integers and booleans.
bool is_float(Dtype dtype);
/// Bytes of a whole tensor.
uint64_t tensor_bytes(const TensorSpec& spec);

}  // namespace warpsmith::sandbox
