// SPDX-License-Identifier: Apache-2.0
#include "sandbox/ingest/input_plans.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "runtime/text.hpp"

namespace warpsmith::sandbox {
namespace {

constexpr const char* own_inputs = "own";

}  // namespace

std::vector<InputRule> rules_for(const TaskDescription& description, Domain domain) {
  std::vector<InputRule> rules;
  for (size_t i = 0; i < description.signature.tensors.size(); ++i) {
    const TensorSpec& spec = description.signature.tensors[i];
    const ValueSummary& value = description.values[i];
    if (spec.role == TensorRole::output) break;
    InputRule rule{.parameter = spec.role == TensorRole::parameter,
                   .drawn = !is_float(spec.dtype),
                   .mean = value.mean,
                   .deviation = value.deviation,
                   .non_negative = value.low >= 0};
    const bool unit = value.low >= 0 && value.high <= 1;
    if (domain == Domain::unit && unit) {
      rule.domain = Domain::unit;
    } else if (domain != Domain::free && value.low >= 0) {
      rule.domain = Domain::non_negative;
    }
    rules.push_back(rule);
  }
  return rules;
}

std::vector<InputPlan> input_plans(const TaskDescription& description) {
  std::vector<InputPlan> plans;
  for (const size_t most : {most_dropped, verified_distributions.size() - 1}) {
    for (const Domain domain : {Domain::free, Domain::non_negative, Domain::unit}) {
      InputPlan plan{std::string(to_string(domain)), rules_for(description, domain), most};
      const bool known = !plans.empty() && plans.back().rules == plan.rules &&
                         plans.back().most_dropped == plan.most_dropped;
      if (!known) plans.push_back(std::move(plan));
    }
  }
  plans.push_back({own_inputs, paper_rules(rules_for(description, Domain::free)), most_dropped});
  return plans;
}

std::string shortfall_of(const ErrorStats& stats) {
  if (stats.nonfinite > 0 || stats.undefined > 0) return not_finite;
  if (stats.undecided > stats.elements / one_undecided_in) {
    const double share = static_cast<double>(stats.undecided) / static_cast<double>(stats.elements);
    return "nothing bounds " + brief_text(100 * share) + " % of the elements";
  }
  return stats.worst <= honest_reach ? "" : brief_text(stats.worst) + " of the bound";
}

std::string listed(Distribution distribution, const std::string& shortfall) {
  return std::string(to_string(distribution)) + " (" + shortfall + ")";
}

std::string unseen_by(const InputPlan& plan, const std::vector<std::string>& dropped) {
  if (plan.name == own_inputs) return "errors on inputs unlike its own";
  if (dropped.size() <= most_dropped) return {};
  return fmt::format("errors on inputs that are {}", fmt::join(dropped, ", "));
}

}  // namespace warpsmith::sandbox
