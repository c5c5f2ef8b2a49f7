// SPDX-License-Identifier: Apache-2.0
#include "runtime/config/rft_config.hpp"

#include <array>

namespace warpsmith {
namespace {
constexpr std::array<std::string_view, 2> invalid_names{"trajectory", "turn"};
}  // namespace

void describe(Fields& fields, RftConfig& c) {
  fields.paths("runs", c.runs);
  fields.integer("per_task", c.per_task, {.low = 1, .high = 1 << 20});
  fields.integer("stall_turns", c.stall_turns, {.low = 0, .high = 10'000});
  fields.flag("repeated_calls", c.repeated_calls);
  fields.choice_of("invalid_calls", c.invalid_calls, invalid_names);
}

}  // namespace warpsmith
