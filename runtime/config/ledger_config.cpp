// SPDX-License-Identifier: Apache-2.0
#include "runtime/config/ledger_config.hpp"

namespace warpsmith {

void describe(Fields& fields, LedgerConfig& c) {
  fields.duration("group_commit", c.group_commit, {.high = std::chrono::seconds{10}});
  fields.bytes("segment_file", c.segment_file_bytes, {.low = 64 << 10});
  fields.integer("checkpoint_steps", c.checkpoint_steps, {.low = 1, .high = 1 << 20});
  fields.integer("keep_checkpoints", c.keep_checkpoints, {.low = 1, .high = 10'000});
  fields.integer("max_in_flight", c.max_in_flight, {.low = 1, .high = 1 << 24});
}

void validate(const LedgerConfig&, Complaints&) {}

}  // namespace warpsmith
