// SPDX-License-Identifier: Apache-2.0
// Which tokens of which sequences the next step computes. Pure: sizes in, sizes out.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace warpsmith::policy {

/// A sequence that wants to be computed. `pending` = tokens without keys and values, at least 1; a
/// sequence with exactly one is decoding, more are a prefill.
struct PendingSequence {
  uint64_t session = 0;
  uint64_t arrival = 0;  // order of requests; older ones go first
  int64_t pending = 0;
};

struct PlannedWork {
  uint64_t session = 0;
  int64_t count = 0;  // of its pending tokens, from the first
};

/// Decoding sequences always advance, so that a long prompt delays nobody by more than one chunk;
/// the rest of `row_budget` goes to prefills in order of arrival, the last one cut to fit. At least
/// one sequence advances whatever the budget. Of more than `most_sequences`, the same order
/// decides.
std::vector<PlannedWork> plan_step(std::span<const PendingSequence> sequences, int64_t row_budget,
                                   int64_t most_sequences = std::numeric_limits<int64_t>::max());

}  // namespace warpsmith::policy
