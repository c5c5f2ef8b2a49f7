// SPDX-License-Identifier: Apache-2.0
// The arguments of the stage's kernel: plain records, passed by value, with device addresses.
#pragma once

#include <cstdint>

namespace warpsmith::sandbox {

/// One element of an output, as in SamplePosition.
struct GatherPlace {
  uint64_t offset = 0;
  uint64_t bytes = 0;  // 1, 2, 4 or 8
};

/// Reads elements anywhere in a memory, into 8 bytes each.
struct GatherOrder {
  const unsigned char* from = nullptr;
  const GatherPlace* places = nullptr;
  uint64_t count = 0;
  uint64_t* out = nullptr;
};

}  // namespace warpsmith::sandbox
