// SPDX-License-Identifier: Apache-2.0
// The mutation gate for numerics `paper`: it marks a task whose wrong answers pass, and refuses
// none.
#include <algorithm>

#include "sandbox/ingest/ingest_stay.hpp"

namespace warpsmith::sandbox {

/// Everything in bfloat16 is no mutant here: the tolerance is meant to allow it.
OrFailure<void> IngestStay::gate_paper() {
  std::vector<MutantTrial> trials;
  for (const std::string& name : description_.mutants) trials.push_back({.name = name});
  say("mutation gate, numerics paper");
  for (int i = 0; i < paper_sets; ++i) {
    if (auto ready = fill(Distribution::normal, paper_rules(record_.rules)); !ready) return ready;
    if (auto done = try_paper(trials); !done) return done;
  }
  std::erase_if(trials, [](const MutantTrial& trial) { return trial.name == coarsest; });
  record_.weakness = names_uncaught(trials);
  return complete_for_paper();
}

/// Adds what a judgement needs and the steps of `strict` did not reach.
OrFailure<void> IngestStay::complete_for_paper() {
  if (auto done = baseline(false); !done) return done;
  if (record_.facts.eager_ms == 0) record_.facts.eager_ms = charged_ms_;
  if (!record_.profiles.empty()) return {};
  bench_.raise_profiles(record_.profiles);  // for their sizes: this tolerance follows no spread
  for (std::vector<float>& profile : record_.profiles) std::ranges::fill(profile, 0.0F);
  return {};
}

OrFailure<void> IngestStay::try_paper(std::vector<MutantTrial>& trials) {
  if (auto done = session_.values(0, patience_); !done) return done;
  const BoundRule bound = bound_for(Numerics::paper, spread_evaluations);
  for (size_t m = 0; m < trials.size(); ++m) {
    if (trials[m].caught) continue;
    auto applies = session_.mutant(0, static_cast<uint32_t>(m), patience_);
    if (!applies) return tl::unexpected(applies.error());
    if (*applies) record_trial(trials[m], bench_.compare_with_reference(Side::worker, 0, bound));
  }
  return {};
}

}  // namespace warpsmith::sandbox
