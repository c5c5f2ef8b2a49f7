// SPDX-License-Identifier: Apache-2.0
// Finds the distributions on which honest evaluations lie well within a bound.
#include <algorithm>

#include "sandbox/ingest/ingest_stay.hpp"
#include "sandbox/judge/number_text.hpp"

namespace warpsmith::sandbox {
namespace {

/// Why a distribution with these errors of honest evaluations is dropped; empty if it is kept.
std::string shortfall_of(const ErrorStats& stats) {
  if (stats.nonfinite > 0 || stats.undefined > 0) return "not finite";
  if (stats.undecided > stats.elements / one_undecided_in) {
    const double share = static_cast<double>(stats.undecided) / static_cast<double>(stats.elements);
    return "nothing bounds " + brief(100 * share) + " % of the elements";
  }
  return stats.worst <= honest_reach ? "" : brief(stats.worst) + " of the bound";
}

std::string listed(Distribution distribution, const std::string& shortfall) {
  return std::string(to_string(distribution)) + " (" + shortfall + ")";
}

constexpr const char* no_judge = "honest evaluations are not well within a finite bound on ";

}  // namespace

/// Compares eager, and its sums in other orders, with the reference.
OrFailure<IngestStay::Trial> IngestStay::trial(Distribution distribution) {
  DistributionFacts facts{.distribution = distribution};
  if (auto ready = prepare(distribution); !ready) return tl::unexpected(ready.error());
  if (auto done = baseline(false); !done) return tl::unexpected(done.error());
  if (auto done = session_.collect(0, patience_); !done) return tl::unexpected(done.error());
  if (auto done = refer(); !done) return tl::unexpected(done.error());
  ErrorStats stats = bench_.compare_with_reference(Side::worker, 0, bound_);
  facts.eager_error = stats.worst;
  for (uint32_t order = 0; order < description_.honest_orders.size(); ++order) {
    if (auto done = session_.honest(0, order, patience_); !done) {
      return tl::unexpected(done.error());
    }
    stats.add(bench_.compare_with_reference(Side::worker, 0, bound_));
  }
  facts.honest_error = stats.worst;
  std::string shortfall = shortfall_of(stats);
  facts.kept = shortfall.empty();
  return Trial{facts, std::move(shortfall)};
}

/// Chooses the widest domain in which enough distributions are kept.
OrFailure<void> IngestStay::choose_domain() {
  std::string short_ones;
  for (const Domain domain : {Domain::free, Domain::non_negative, Domain::unit}) {
    say("input sets (" + std::string(to_string(domain)) + ")");
    record_.rules = rules_for(description_, domain);
    record_.distributions.clear();
    short_ones.clear();
    int kept = 0;
    for (const Distribution distribution : verified_distributions) {
      auto tried = trial(distribution);
      if (!tried) return tl::unexpected(tried.error());
      record_.distributions.push_back(tried->facts);
      kept += tried->facts.kept ? 1 : 0;
      if (tried->facts.kept) continue;
      short_ones += (short_ones.empty() ? "" : ", ") + listed(distribution, tried->shortfall);
    }
    if (kept >= least_distributions) return {};
  }
  record_.refusal =
      no_judge +
      ("more than " + std::to_string(verified_distributions.size() - least_distributions)) +
      " of " + std::to_string(verified_distributions.size()) + " distributions: " + short_ones;
  return {};
}

/// Tries dense inputs, which one verified set has. Eager's time there bounds a candidate's calls.
OrFailure<void> IngestStay::try_dense() {
  say("dense sets");
  const auto tried = trial(Distribution::dense);
  if (!tried) return tl::unexpected(tried.error());
  record_.facts.eager_ms = charged_ms_;
  if (!tried->facts.kept) {
    record_.refusal = no_judge + listed(Distribution::dense, tried->shortfall);
  }
  return {};
}

}  // namespace warpsmith::sandbox
