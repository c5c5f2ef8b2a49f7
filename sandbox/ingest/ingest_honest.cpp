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

constexpr size_t most_dropped = verified_distributions.size() - least_distributions;

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

/// Chooses the widest domain in which enough distributions are kept. Mutants are judged on the same
/// contents, so that the reference is computed once for both.
OrFailure<void> IngestStay::choose_domain() {
  std::vector<std::string> dropped;
  for (const Domain domain : {Domain::free, Domain::non_negative, Domain::unit}) {
    record_.rules = rules_for(description_, domain);
    auto tried = try_domain(domain);
    if (!tried) return tl::unexpected(tried.error());
    dropped = std::move(*tried);
    if (dropped.size() <= most_dropped) return {};
  }
  std::string list;
  for (const std::string& each : dropped) list += (list.empty() ? "" : ", ") + each;
  record_.refusal = no_judge + ("more than " + std::to_string(most_dropped)) + " of " +
                    std::to_string(verified_distributions.size()) + " distributions: " + list;
  return {};
}

/// The distributions that are dropped, each with the reason. Ends once they are too many.
OrFailure<std::vector<std::string>> IngestStay::try_domain(Domain domain) {
  std::vector<std::string> dropped;
  record_.distributions.clear();
  start_gate();
  for (const Distribution distribution : verified_distributions) {
    if (dropped.size() > most_dropped || is_enough()) break;
    say("input sets, " + std::string(to_string(domain)) + ", " +
        std::string(to_string(distribution)));
    const auto began = SteadyClock::now();
    auto tried = trial(distribution);
    if (!tried) return tl::unexpected(tried.error());
    set_time_ = SteadyClock::now() - began;
    record_.distributions.push_back(tried->facts);
    if (!tried->facts.kept) {
      dropped.push_back(listed(distribution, tried->shortfall));
    } else if (auto done = try_mutants(record_.distributions.back()); !done) {
      return tl::unexpected(done.error());
    }
  }
  return dropped;
}

/// Whether no further distribution is tried, because one takes long and enough are kept.
bool IngestStay::is_enough() const {
  const auto kept = std::ranges::count_if(record_.distributions, &DistributionFacts::kept);
  return set_time_ > slow_set && kept >= least_distributions;
}

/// Tries dense inputs, which one verified set has. Eager's time there bounds a candidate's calls.
OrFailure<void> IngestStay::try_dense() {
  say("input sets, dense");
  const auto tried = trial(Distribution::dense);
  if (!tried) return tl::unexpected(tried.error());
  record_.facts.eager_ms = charged_ms_;
  if (!tried->facts.kept) {
    record_.refusal = no_judge + listed(Distribution::dense, tried->shortfall);
  }
  return {};
}

}  // namespace warpsmith::sandbox
