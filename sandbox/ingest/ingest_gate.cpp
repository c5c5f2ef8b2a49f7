// SPDX-License-Identifier: Apache-2.0
// The mutation gate: wrong outputs that every check must tell from right ones.
#include <algorithm>

#include "sandbox/ingest/ingest_stay.hpp"

namespace warpsmith::sandbox {
namespace {

// Of half types one set in seven tells a softmax's element from its neighbour, and the last of a
// thousand terms is the largest in one set of two: with more sets no task is refused by chance, and
// who bets on it loses within a few submissions.
constexpr int most_sets = 4 * timed_sets;

constexpr const char *coarsest = "bf16", *lower = "tf32";

// Bounds that an honest lower precision errs by where the exact bound tells it, and not by chance.
constexpr double surely_told = 2;

/// All outputs are of half types.
bool gives_halves(const TaskSignature& signature) {
  return std::ranges::all_of(signature.tensors, [](const TensorSpec& spec) {
    return spec.role != TensorRole::output || unit_of(spec.dtype) > unit_of(Dtype::f32);
  });
}

}  // namespace

Result<void> IngestStay::gate() {
  trials_.assign(description_.mutants.size(), {});
  for (size_t m = 0; m < trials_.size(); ++m) trials_[m].name = description_.mutants[m];
  for (DistributionFacts& facts : record_.distributions) {
    if (!facts.kept) continue;
    say("mutation gate (" + std::string(to_string(facts.distribution)) + ")");
    if (auto done = try_mutants(facts); !done) return done;
  }
  // Timed outputs are checked too: what differs in one element by chance gets as many sets.
  for (int i = 0; i < most_sets && !quarantine_reason(trials_).empty(); ++i) {
    if (i >= timed_sets && !only_unseen_wait(trials_)) break;
    say("mutation gate (more sets)");
    if (auto done = try_survivors(); !done) return done;
  }
  record_.refusal = quarantine_reason(trials_);
  return {};
}

Result<void> IngestStay::try_mutants(DistributionFacts& facts) {
  if (auto ready = prepare(facts.distribution); !ready) return ready;
  const size_t count = description_.mutants.size() + description_.lower_precisions.size();
  for (size_t m = 0; m < count; ++m) {
    auto stats = judge_mutant(static_cast<uint32_t>(m));
    if (!stats) return tl::unexpected(stats.error());
    if (!*stats) continue;
    note_precision(facts, m, **stats);
    if (m < trials_.size()) record_trial(trials_[m], **stats);
  }
  return {};
}

Result<void> IngestStay::try_survivors() {
  if (auto ready = prepare(Distribution::dense); !ready) return ready;
  for (size_t m = 0; m < trials_.size(); ++m) {
    if (!trials_[m].applies || trials_[m].caught) continue;
    auto stats = judge_mutant(static_cast<uint32_t>(m));
    if (!stats) return tl::unexpected(stats.error());
    if (*stats) record_trial(trials_[m], **stats);
  }
  return {};
}

/// The reference is computed anew: the result memory also carries whether a mutant applies.
Result<std::optional<ErrorStats>> IngestStay::judge_mutant(uint32_t index) {
  auto applies = session_.mutant(0, index, deadline_);
  if (!applies) return tl::unexpected(applies.error());
  if (!*applies) return std::optional<ErrorStats>{};
  if (auto done = session_.reference(0, deadline_); !done) return tl::unexpected(done.error());
  return std::optional{bench_.compare_with_reference(Side::worker, 0, bound_)};
}

void IngestStay::note_precision(DistributionFacts& facts, size_t mutant,
                                const ErrorStats& stats) const {
  const auto& mutants = description_.mutants;
  const std::string& name = mutant < mutants.size()
                                ? mutants[mutant]
                                : description_.lower_precisions[mutant - mutants.size()];
  if (name == coarsest) facts.bf16_error = stats.worst;
  if (name == lower) facts.tf32_error = stats.worst;
}

/// By the exact bound, of a precision that is no mutant: where few terms meet, none need be told.
bool IngestStay::is_told(const std::string& precision) const {
  return precision == lower && std::ranges::any_of(record_.distributions, [](const auto& facts) {
           return facts.tf32_error > surely_told;
         });
}

/// Timed outputs are held against eager's with the looser bound of a profile: that must tell the
/// mutants too, on one of the sets that every timing has. What the exact bound cannot tell there
/// either, because outputs of half types round it away, the verified sets have told already; so
/// they have of bfloat16 where products may be of TF32, which lies near.
Result<void> IngestStay::gate_timed() {
  std::vector<MutantTrial> trials(trials_);
  const bool halves = gives_halves(description_.signature);
  const bool tf32 = job_.task.lane == PrecisionLane::tf32_allowed;
  for (const std::string& name : description_.lower_precisions) {
    trials.push_back({.name = name, .applies = !tf32 && is_told(name)});
  }
  for (MutantTrial& trial : trials) {
    trial = {.name = trial.name, .applies = trial.applies, .lost = halves};
    trial.caught = tf32 && trial.name == coarsest;
  }
  for (int i = 0; i < most_sets && any_waits(trials); ++i) {
    if (i == timed_sets) drop_lost(trials);
    if (i >= timed_sets && !halves && !only_seldom_seen_wait(trials, i)) break;
    say("mutation gate (timed outputs)");
    if (auto ready = prepare(Distribution::dense); !ready) return ready;
    if (auto done = baseline(false); !done) return done;
    if (auto done = session_.collect(1, deadline_); !done) return done;
    for (size_t m = 0; m < trials.size(); ++m) {
      if (!trials[m].applies || trials[m].caught) continue;
      if (auto done = try_timed(m, trials[m]); !done) return done;
    }
  }
  const std::string names = names_uncaught(trials);
  if (!names.empty()) record_.refusal = "mutation gate: timed outputs would accept: " + names;
  return {};
}

/// The last eager outputs lie in set 1 of the worker's.
Result<void> IngestStay::try_timed(size_t mutant, MutantTrial& trial) {
  auto applies = session_.mutant(0, static_cast<uint32_t>(mutant), deadline_);
  if (!applies) return tl::unexpected(applies.error());
  if (!*applies) return {};
  const ErrorStats timed = bench_.compare_with_worker(Side::worker, 0, 1, bound_);
  record_trial(trial, timed);
  if (timed.worst > 0) ++trial.seen;
  if (trial.caught || !trial.lost) return {};
  if (auto done = session_.reference(0, deadline_); !done) return done;
  record_exact(trial, bench_.compare_with_reference(Side::worker, 0, bound_));
  return {};
}

}  // namespace warpsmith::sandbox
