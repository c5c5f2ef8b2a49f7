// SPDX-License-Identifier: Apache-2.0
// Sizes of tensors in memory, and copies that leave no data in the caches. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/task.hpp"

namespace warpsmith::sandbox {

/// Bytes of one element.
uint64_t element_bytes(Dtype dtype);
/// False for integers and booleans.
bool is_float(Dtype dtype);
/// Bytes of a whole tensor.
uint64_t tensor_bytes(const TensorSpec& spec);

/// Copies with non-temporal stores, so that the written lines are not left in the caches.
/// Requires equal sizes and a destination aligned to 64 bytes.
void stream_copy(std::span<std::byte> to, std::span<const std::byte> from);

/// Takes every line that holds one of the bytes out of the caches of all cores.
void evict(std::span<const std::byte> bytes);

}  // namespace warpsmith::sandbox
