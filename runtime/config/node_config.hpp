// SPDX-License-Identifier: Apache-2.0
// [node]: how this process sends data to other nodes.
#pragma once

#include <cstdint>

#include "runtime/config/fields.hpp"

namespace warpsmith {

struct NodeConfig {
  int64_t chunk_bytes = 8 << 20;  // a bulk transfer's pieces; control messages go between them
};

void describe(Fields& fields, NodeConfig& c);

}  // namespace warpsmith
