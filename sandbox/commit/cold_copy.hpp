// SPDX-License-Identifier: Apache-2.0
// Writes memory without leaving it in the caches, and takes memory out of them.
#pragma once

#include <cstddef>
#include <span>

namespace warpsmith::sandbox {

/// Copies with non-temporal stores, so that the written lines are not left in the caches.
/// Requires equal sizes and a destination aligned to 64 bytes.
void stream_copy(std::span<std::byte> to, std::span<const std::byte> from);

/// Takes every line that holds one of the bytes out of the caches of all cores.
void evict(std::span<const std::byte> bytes);

}  // namespace warpsmith::sandbox
