// SPDX-License-Identifier: Apache-2.0
// The parties of timed blocks: the candidate, the two baselines of every evaluation, further
// baselines.
#pragma once

#include <vector>

#include "sandbox/reference/further_baselines.hpp"
#include "sandbox/timing/schedule.hpp"

namespace warpsmith::sandbox {

inline bool is_further(Party party) {
  return party == Party::tuned || party == Party::graphed;
}

/// Requires a further baseline.
inline Baseline baseline_of(Party party) {
  return party == Party::tuned ? Baseline::tuned : Baseline::graphed;
}

inline std::vector<Party> parties_with(const FurtherBaselines& further) {
  std::vector<Party> parties{Party::candidate, Party::eager, Party::compiled};
  for (const Baseline which : further.left()) {
    parties.push_back(which == Baseline::tuned ? Party::tuned : Party::graphed);
  }
  return parties;
}

}  // namespace warpsmith::sandbox
