// SPDX-License-Identifier: Apache-2.0
// [node]: how this process sends data to other nodes.
#pragma once

#include <cstdint>

#include "runtime/config/fields.hpp"

namespace warpsmith {

struct NodeConfig {
  int64_t chunk_bytes = 8 << 20;  // per piece of a bulk transfer, so that control messages never wait
};

void describe(Fields& fields, NodeConfig& c);

}  // namespace warpsmith
