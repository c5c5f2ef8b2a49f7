// SPDX-License-Identifier: Apache-2.0
// The mutation gate: every check must reject known wrong outputs.
#include <algorithm>

#include "sandbox/ingest/ingest_stay.hpp"

namespace warpsmith::sandbox {
namespace {

// With half types, one set in seven distinguishes a softmax's element from its neighbour, and the
// last of a thousand terms is the largest in one set of two. So many sets refuse no task by chance,
// and a submission that bets on such a set loses within a few tries.
constexpr int most_sets = 4 * timed_sets;

constexpr const char* lower = "tf32";

// Deep networks have hundreds of parameters to drop. Where there are more mutants than this, one
// run of each serves both checks.
constexpr size_t many_mutants = 64;
constexpr const char* dropped_prefix = "dropped_";

// A lower precision with an error of so many exact bounds is detected surely, not by chance.
constexpr double surely_told = 2;

/// Whether all outputs have half types.
bool gives_halves(const TaskSignature& signature) {
  return std::ranges::all_of(signature.tensors, [](const TensorSpec& spec) {
    return spec.role != TensorRole::output || unit_of(spec.dtype) > unit_of(Dtype::f32);
  });
}

}  // namespace

void IngestStay::start_gate() {
  trials_.assign(description_.mutants.size(), {});
  const bool many = job_.scope == IngestScope::whole && trials_.size() > many_mutants;
  for (size_t m = 0; m < trials_.size(); ++m) {
    trials_[m].name = description_.mutants[m];
    trials_[m].later = many && trials_[m].name.starts_with(dropped_prefix);
  }
}

/// Ends the gate that each kept distribution's contents have passed.
OrFailure<void> IngestStay::gate() {
  // An evaluation also checks its timed outputs, so a mutant may be caught on as many more sets.
  for (int i = 0; i < most_sets && !quarantine_reason(trials_).empty(); ++i) {
    if (i >= timed_sets && !uncaught_never_differed(trials_)) break;
    say("mutation gate, more sets");
    if (auto done = try_survivors(); !done) return done;
  }
  record_.refusal = quarantine_reason(trials_);
  return {};
}

/// Requires the contents of this distribution and their reference.
OrFailure<void> IngestStay::try_mutants(DistributionFacts& facts) {
  say("mutation gate, " + std::string(to_string(facts.distribution)));
  const size_t count = description_.mutants.size() + description_.lower_precisions.size();
  for (size_t m = 0; m < count; ++m) {
    // Networks have hundreds of parameters to drop; one set that shows each is enough.
    if (m < trials_.size() && trials_[m].caught && trials_[m].name != coarsest) continue;
    if (m < trials_.size() && trials_[m].later) continue;
    auto stats = judge_mutant(static_cast<uint32_t>(m));
    if (!stats) return tl::unexpected(stats.error());
    if (!*stats) continue;
    note_precision(facts, m, **stats);
    if (m < trials_.size()) record_trial(trials_[m], **stats);
  }
  return {};
}

OrFailure<void> IngestStay::try_survivors() {
  if (auto ready = prepare(Distribution::dense); !ready) return ready;
  for (size_t m = 0; m < trials_.size(); ++m) {
    if (!trials_[m].applies || trials_[m].caught) continue;
    auto stats = judge_mutant(static_cast<uint32_t>(m));
    if (!stats) return tl::unexpected(stats.error());
    if (*stats) record_trial(trials_[m], **stats);
  }
  return {};
}

OrFailure<std::optional<ErrorStats>> IngestStay::judge_mutant(uint32_t index) {
  auto applies = session_.mutant(0, index, patience_);
  if (!applies) return tl::unexpected(applies.error());
  if (!*applies) return std::optional<ErrorStats>{};
  if (auto done = refer(); !done) return tl::unexpected(done.error());
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

/// Whether the exact bound detects a lower precision that is no mutant. With few terms it need not.
bool IngestStay::is_detected(const std::string& precision) const {
  return precision == lower && std::ranges::any_of(record_.distributions, [](const auto& facts) {
           return facts.tf32_error > surely_told;
         });
}

/// Timed outputs are compared with eager's under the looser bound of a profile, which must catch
/// the mutants too, on one of the sets that every timing has. The exact bound must catch those that
/// were left for `later` there. Exempt are mutants that the exact
/// bound misses as well, because outputs of half types round the difference away, and bfloat16
/// where TF32 products are allowed, whose errors are close: the verified sets have caught both.
OrFailure<void> IngestStay::gate_timed() {
  std::vector<MutantTrial> trials(trials_);
  const bool halves = gives_halves(description_.signature);
  const bool tf32 = job_.task.lane == PrecisionLane::tf32_allowed;
  for (const std::string& name : description_.lower_precisions) {
    trials.push_back({.name = name, .applies = !tf32 && is_detected(name)});
  }
  for (MutantTrial& trial : trials) {
    trial = {.name = trial.name,
             .applies = trial.applies || trial.later,
             .later = trial.later,
             .lost = halves};
    trial.caught = tf32 && trial.name == coarsest;
  }
  for (int i = 0; i < most_sets && any_uncaught(trials); ++i) {
    if (i == timed_sets) drop_lost(trials);
    if (i >= timed_sets && !halves && !uncaught_seldom_differ(trials, i)) break;
    say("mutation gate, timed outputs");
    if (auto ready = prepare(Distribution::dense); !ready) return ready;
    if (auto done = keep_eager(); !done) return done;
    for (size_t m = 0; m < trials.size(); ++m) {
      if (!trials[m].applies || trials[m].caught) continue;
      if (auto done = try_timed(m, trials[m]); !done) return done;
    }
  }
  record_.refusal = quarantine_reason(trials_);
  const std::string names = names_uncaught(trials);
  if (record_.refusal.empty() && !names.empty()) {
    record_.refusal = "mutation gate: timed outputs would accept: " + names;
  }
  return {};
}

/// Requires that eager's outputs are kept.
OrFailure<void> IngestStay::try_timed(size_t mutant, MutantTrial& trial) {
  auto applies = session_.mutant(0, static_cast<uint32_t>(mutant), patience_);
  if (!applies) return tl::unexpected(applies.error());
  if (!*applies) return {};
  const ErrorStats timed = bench_.compare_outputs(of_worker, of_eager, bound_);
  record_trial(trial, timed);
  if (timed.worst > 0) ++trial.seen;
  if (trial.later) {
    if (auto done = refer(); !done) return done;
    record_trial(trials_[mutant], bench_.compare_with_reference(Side::worker, 0, bound_));
    trial.caught = trial.caught && trials_[mutant].caught;
  }
  if (trial.caught || !trial.lost) return {};
  if (auto done = refer(); !done) return done;
  record_exact(trial, bench_.compare_with_reference(Side::worker, 0, bound_));
  return {};
}

}  // namespace warpsmith::sandbox
