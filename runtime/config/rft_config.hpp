// SPDX-License-Identifier: Apache-2.0
// [rft]: which collected trajectories rejection fine-tuning keeps. [sft] says how it optimises.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "runtime/config/complaints.hpp"
#include "runtime/config/fields.hpp"

namespace warpsmith {

/// What an invalid call costs: one that breaks the syntax or the tool's schema.
enum class InvalidCalls : uint8_t {
  trajectory,  // the whole trajectory is rejected
  turn,        // its turn has no loss
};

struct RftConfig {
  std::vector<std::filesystem::path>
      runs;                  // run folders; in a chain by default those collected before
  int64_t per_task = 64;     // most trajectories of one task: those with the highest rewards
  int64_t stall_turns = 10;  // turns in a row without a better verdict that reject; 0: any number
  bool repeated_calls = false;  // keeps trajectories that repeat a call without an edit between
  InvalidCalls invalid_calls = InvalidCalls::trajectory;
};

void describe(Fields& fields, RftConfig& c);

}  // namespace warpsmith
