// SPDX-License-Identifier: Apache-2.0
#include "runtime/config/node_config.hpp"

namespace warpsmith {

void describe(Fields& fields, NodeConfig& c) {
  fields.bytes("chunk", c.chunk_bytes, {.low = 4 << 10, .high = 8 << 20});
}

}  // namespace warpsmith
