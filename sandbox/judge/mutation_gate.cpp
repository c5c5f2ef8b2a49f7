// SPDX-License-Identifier: Apache-2.0
#include "sandbox/judge/mutation_gate.hpp"

#include <algorithm>

namespace warpsmith::sandbox {

void record_trial(MutantTrial& trial, const ErrorStats& stats) {
  trial.applies = true;
  trial.caught = trial.caught || !stats.right();
  trial.worst = std::max(trial.worst, stats.worst);
}

std::string names_uncaught(const std::vector<MutantTrial>& trials) {
  std::string names;
  for (const MutantTrial& trial : trials) {
    if (!trial.applies || trial.caught) continue;
    names += (names.empty() ? "" : ", ") + trial.name;
  }
  return names;
}

std::string quarantine_reason(const std::vector<MutantTrial>& trials) {
  const std::string names = names_uncaught(trials);
  return names.empty() ? names : "mutation gate: wrong answers would pass: " + names;
}

}  // namespace warpsmith::sandbox
