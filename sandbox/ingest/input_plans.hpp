// SPDX-License-Identifier: Apache-2.0
// How ingest fills a task's inputs: the plans that it tries, and when a distribution is dropped.
// Pure.
#pragma once

#include <string>
#include <vector>

#include "sandbox/judge/ingest_record.hpp"
#include "sandbox/judge/numerics.hpp"
#include "sandbox/reference/description.hpp"

namespace warpsmith::sandbox {

/// With fewer distributions than this, wrong answers on the others count as unseen.
inline constexpr size_t least_distributions = 3;
inline constexpr size_t most_dropped = verified_distributions.size() - least_distributions;

/// The largest error of an honest evaluation, as a share of the bound. With more, honest candidates
/// would sometimes exceed the bound.
inline constexpr double honest_reach = 0.8;

/// A distribution is dropped if rounding leaves more than one element in so many without a bound.
inline constexpr size_t one_undecided_in = 1024;

inline constexpr const char* not_finite = "not finite";

/// How to fill inputs and parameters: within `domain`, or within the narrowest wider one that the
/// task's own values allow.
std::vector<InputRule> rules_for(const TaskDescription& description, Domain domain);

struct InputPlan {
  std::string name;  // of the domain, or "own"
  std::vector<InputRule> rules;
  size_t most_dropped;  // distributions
};

/// In the order of preference: the widest domain with enough distributions, then with any, then
/// inputs with the mean and the deviation of the task's own, which all distributions have then.
std::vector<InputPlan> input_plans(const TaskDescription& description);

/// Why a distribution with these errors of honest evaluations is dropped; empty if it is kept.
std::string shortfall_of(const ErrorStats& stats);

/// "wide (not finite)"
std::string listed(Distribution distribution, const std::string& shortfall);

/// The wrong answers that a plan's inputs never show, without those that it dropped; empty if the
/// usual number of distributions is left.
std::string unseen_by(const InputPlan& plan, const std::vector<std::string>& dropped);

}  // namespace warpsmith::sandbox
