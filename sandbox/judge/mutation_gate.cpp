// SPDX-License-Identifier: Apache-2.0
#include "sandbox/judge/mutation_gate.hpp"

#include <algorithm>

namespace warpsmith::sandbox {

void record_trial(MutantTrial& trial, const ErrorStats& stats) {
  trial.applies = true;
  trial.caught = trial.caught || !stats.right();
  trial.worst = std::max(trial.worst, stats.worst);
}

std::string quarantine_reason(const std::vector<MutantTrial>& trials) {
  std::string names;
  for (const MutantTrial& trial : trials) {
    if (!trial.applies || trial.caught) continue;
    names += (names.empty() ? "" : ", ") + trial.name;
  }
  if (names.empty()) return {};
  return "mutation gate: wrong answers would pass: " + names;
}

}  // namespace warpsmith::sandbox
