// SPDX-License-Identifier: Apache-2.0
// The byte buffer that messages, files and sockets share.
#pragma once

#include <vector>

namespace warpsmith {

/// Owned bytes, as a vector of char: the one sequence that CAF writes without a loop per element.
using ByteBuffer = std::vector<char>;

}  // namespace warpsmith
