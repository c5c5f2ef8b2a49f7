// SPDX-License-Identifier: Apache-2.0
// Plans which tokens of which sequences the next step computes. Pure.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace warpsmith::policy {

/// A sequence to compute. `pending` counts tokens without keys and values, at least 1: exactly one
/// while decoding, more for a prefill.
struct PendingSequence {
  uint64_t session = 0;
  uint64_t arrival = 0;  // order of requests; older ones go first
  int64_t pending = 0;
};

struct PlannedWork {
  uint64_t session = 0;
  int64_t count = 0;  // pending tokens to compute, from the first
};

/// Decoding sequences go first, so that a long prompt delays them by at most one chunk of
/// `row_budget` rows. The rest of the budget goes to prefills by arrival; the last one is cut to
/// fit. At least one sequence advances. At most `most_sequences` do, in the same order.
std::vector<PlannedWork> plan_step(std::span<const PendingSequence> sequences, int64_t row_budget,
                                   int64_t most_sequences = std::numeric_limits<int64_t>::max());

}  // namespace warpsmith::policy
