// SPDX-License-Identifier: Apache-2.0
// What the stage's kernel is told: a plain record, passed by value. Addresses are the device's.
#pragma once

#include <cstdint>

namespace warpsmith::sandbox {

/// One element of an output, as SamplePosition has it.
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
