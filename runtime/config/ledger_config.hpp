// SPDX-License-Identifier: Apache-2.0
// [ledger]: what is made durable, how often, and how much is kept.
#pragma once

#include <chrono>
#include <cstdint>

#include "runtime/config/complaints.hpp"
#include "runtime/config/fields.hpp"

namespace warpsmith {

struct LedgerConfig {
  std::chrono::milliseconds group_commit{5};  // writes within this time share one flush to disk
  int64_t segment_file_bytes = 64 << 20;      // a larger file is closed and the next one begun
  int64_t checkpoint_steps = 10;              // optimiser steps between checkpoints
  int64_t keep_checkpoints = 2;               // newest ones; a run's last one is always kept
  int64_t max_in_flight = 4'096;              // trajectories admitted and not yet ended
};

void describe(Fields& fields, LedgerConfig& c);
void validate(const LedgerConfig& c, Complaints& complaints);

}  // namespace warpsmith
