// SPDX-License-Identifier: Apache-2.0
#include "sandbox/ingest/mutation_gate.hpp"

#include <algorithm>

#include "runtime/text.hpp"

namespace warpsmith::sandbox {

void record_trial(MutantTrial& trial, const ErrorStats& stats) {
  trial.applies = true;
  trial.caught = trial.caught || !stats.right();
  trial.worst = std::max(trial.worst, stats.worst);
}

void record_exact(MutantTrial& trial, const ErrorStats& stats) {
  trial.lost = trial.lost && stats.nonfinite == 0 && stats.worst <= lost_in_rounding;
}

bool is_uncaught(const MutantTrial& trial) {
  return trial.applies && !trial.caught && !trial.without_effect;
}

bool any_uncaught(const std::vector<MutantTrial>& trials) {
  return std::ranges::any_of(trials, is_uncaught);
}

bool uncaught_never_differed(const std::vector<MutantTrial>& trials) {
  return std::ranges::none_of(trials,
                              [](const MutantTrial& t) { return is_uncaught(t) && t.worst > 0; });
}

bool uncaught_seldom_differ(const std::vector<MutantTrial>& trials, int sets) {
  return std::ranges::none_of(
      trials, [sets](const MutantTrial& t) { return is_uncaught(t) && 2 * t.seen > sets; });
}

void drop_lost(std::vector<MutantTrial>& trials) {
  for (MutantTrial& trial : trials) trial.applies = trial.applies && (trial.caught || !trial.lost);
}

std::string names_uncaught(const std::vector<MutantTrial>& trials) {
  std::string names;
  for (const MutantTrial& trial : trials) {
    if (!is_uncaught(trial) || trial.lost) continue;
    names += (names.empty() ? "" : ", ") + trial.name;
    names += " (" + brief_text(trial.worst) + " of the bound)";
  }
  return names;
}

}  // namespace warpsmith::sandbox
