// SPDX-License-Identifier: Apache-2.0
#include "policy/learn/early_warnings.hpp"

#include <numeric>

namespace warpsmith::policy {

std::string_view to_string(Warning warning) noexcept {
  static constexpr std::array<std::string_view, warning_count> names{
      "entropy_falls", "entropy_rises", "critic_is_no_help", "answers_are_cut", "unlikely_ratios"};
  return names[static_cast<size_t>(warning)];
}

double EarlyWarnings::mean_entropy() const {
  return std::accumulate(entropies_.begin(), entropies_.end(), 0.0) /
         static_cast<double>(entropies_.size());
}

bool EarlyWarnings::shows(Warning warning, const StepReport& report) const {
  const bool is_settled = steps_ >= window;
  const double change = config_.entropy_change;
  switch (warning) {
    case Warning::entropy_falls:
      return is_settled && change > 0 && report.tokens.entropy < mean_entropy() * (1 - change);
    case Warning::entropy_rises:
      return is_settled && change > 0 && report.tokens.entropy > mean_entropy() * (1 + change);
    case Warning::critic_is_no_help:
      return is_settled && report.tokens.explained_variance < config_.explained_variance;
    case Warning::answers_are_cut:
      return report.outcomes.truncated > config_.truncated;
    case Warning::unlikely_ratios:
      return config_.ratio > 0 && report.tokens.unlikely_ratio > config_.ratio;
  }
  return false;
}

std::vector<Warning> EarlyWarnings::observe(const StepReport& report) {
  std::vector<Warning> in_force;
  bool entropy_is_odd = false;
  for (size_t i = 0; i < warning_count; ++i) {
    const auto warning = static_cast<Warning>(i);
    const bool shown = shows(warning, report);
    in_a_row_[i] = shown ? in_a_row_[i] + 1 : 0;
    if (in_a_row_[i] >= config_.patience) in_force.push_back(warning);
    const bool of_entropy = warning == Warning::entropy_falls || warning == Warning::entropy_rises;
    entropy_is_odd = entropy_is_odd || (of_entropy && shown);
  }
  ++steps_;
  if (entropy_is_odd)
    return in_force;  // else an odd entropy would become the mean that it is compared with
  entropies_.push_back(report.tokens.entropy);
  if (entropies_.size() > window) entropies_.pop_front();
  return in_force;
}

}  // namespace warpsmith::policy
