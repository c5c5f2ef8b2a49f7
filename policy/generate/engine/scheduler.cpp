// SPDX-License-Identifier: Apache-2.0
#include "policy/generate/engine/scheduler.hpp"

#include <algorithm>

namespace warpsmith::policy {

std::vector<PlannedWork> plan_step(std::span<const PendingSequence> sequences, int64_t row_budget,
                                   int64_t most_sequences) {
  std::vector<PendingSequence> order(sequences.begin(), sequences.end());
  std::sort(order.begin(), order.end(), [](const PendingSequence& a, const PendingSequence& b) {
    const bool a_prefills = a.pending > 1;
    const bool b_prefills = b.pending > 1;
    if (a_prefills != b_prefills) return b_prefills;
    return a.arrival < b.arrival;
  });
  std::vector<PlannedWork> plan;
  int64_t left = std::max<int64_t>(row_budget, 1);
  for (const PendingSequence& sequence : order) {
    if (left == 0 || static_cast<int64_t>(plan.size()) >= most_sequences) break;
    const int64_t count = std::min(sequence.pending, left);
    plan.push_back({sequence.session, count});
    left -= count;
  }
  return plan;
}

}  // namespace warpsmith::policy
