// SPDX-License-Identifier: Apache-2.0
// [node]: what this process sends to others.
#pragma once

#include <cstdint>

#include "runtime/config/fields.hpp"

namespace warpsmith {

struct NodeConfig {
  int64_t chunk_bytes = 8 << 20;  // of a bulk transfer, so that control messages never wait
};

void describe(Fields& fields, NodeConfig& c);

}  // namespace warpsmith
