// SPDX-License-Identifier: Apache-2.0
#include "policy/learn/step_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "policy/learn/reward.hpp"

namespace warpsmith::policy {
namespace {

/// A running mean.
struct Mean {
  double sum = 0;
  int64_t count = 0;

  void add(double x) {
    sum += x;
    ++count;
  }
  double value() const { return count == 0 ? 0 : sum / static_cast<double>(count); }
};

double k3_of(double log_ratio) {
  return std::expm1(log_ratio) - log_ratio;
}

double variance(const std::vector<double>& xs) {
  Mean mean;
  for (const double x : xs) mean.add(x);
  Mean square;
  for (const double x : xs) square.add((x - mean.value()) * (x - mean.value()));
  return square.value();
}

/// Fills the statistics of π/μ over the trained tokens: quantiles, effective sample size, k3.
void describe_ratios(const std::vector<TokenSample>& samples, RatioStatistics& out) {
  std::vector<double> ratios;
  Mean k3;
  Mean proximal_k3;
  for (const TokenSample& s : samples) {
    if (s.stale) continue;
    const double log_ratio = double{s.log_prob} - double{s.behaviour};
    ratios.push_back(std::exp(log_ratio));
    k3.add(k3_of(log_ratio));
    proximal_k3.add(k3_of(double{s.log_prob} - double{s.proximal}));
  }
  out.k3 = k3.value();
  out.proximal_k3 = proximal_k3.value();
  if (ratios.empty()) return;
  std::sort(ratios.begin(), ratios.end());
  std::transform(ratio_levels.begin(), ratio_levels.end(), out.ratio_quantiles.begin(),
                 [&](double level) { return quantile_of(ratios, level); });
  double sum = 0;
  double squares = 0;
  for (const double r : ratios) {
    sum += r;
    squares += r * r;
  }
  out.effective_sample_size = sum * sum / (static_cast<double>(ratios.size()) * squares);
}

void describe_unlikely(const std::vector<TokenSample>& samples, RatioStatistics& out) {
  std::vector<double> ratios;
  for (const TokenSample& s : samples) {
    if (s.stale || std::exp(double{s.behaviour}) >= unlikely) continue;
    ratios.push_back(std::exp(std::abs(double{s.log_prob} - double{s.behaviour})));
  }
  std::sort(ratios.begin(), ratios.end());
  out.unlikely_ratio = quantile_of(ratios, 0.99);
}

void describe_ages(const std::vector<TokenSample>& samples, RatioStatistics& out) {
  AgeBin all;
  Mean lag;
  for (const TokenSample& s : samples) {
    AgeBin& bin = out.by_age[s.lag];
    ++bin.tokens;
    bin.clipped += s.clipped ? 1 : 0;
    all.clipped += s.clipped ? 1 : 0;
    all.tokens += s.stale ? 0 : 1;
    lag.add(s.lag);
    out.stale_tokens += s.stale ? 1 : 0;
    out.filtered_tokens += s.filtered ? 1 : 0;
  }
  out.clip_fraction = all.clip_fraction();
  out.lag_mean = lag.value();
}

void describe_mismatch(const std::vector<TokenSample>& samples, RatioStatistics& out) {
  Mean gap;
  for (const TokenSample& s : samples) {
    if (!s.same_weights) continue;
    const double distance = std::abs(double{s.proximal} - double{s.behaviour});
    gap.add(distance);
    out.mismatch_max = std::max(out.mismatch_max, distance);
  }
  out.fresh_tokens = gap.count;
  out.mismatch_mean = gap.value();
}

void describe_critic(const std::vector<TokenSample>& samples, RatioStatistics& out) {
  std::vector<double> targets;
  std::vector<double> errors;
  Mean value;
  Mean target;
  Mean square;
  for (const TokenSample& s : samples) {
    const double error = double{s.target} - double{s.value};
    targets.push_back(s.target);
    errors.push_back(error);
    value.add(s.value);
    target.add(s.target);
    square.add(error * error);
  }
  const double total = variance(targets);
  out.explained_variance = total > 0 ? 1 - variance(errors) / total : 0;
  out.value_error = std::sqrt(square.value());
  out.value_mean = value.value();
  out.target_mean = target.value();
}

bool is_faster(const std::optional<double>& speedup) {
  return speedup && clearly_faster(*speedup);
}

/// The record's plain numbers under the names of their fields.
template <class Record>
void add_numbers(const Record& record, std::map<std::string, double>& out) {
  Record::describe(
      [&]<class T>(std::string_view name, const T& value) {
        if constexpr (std::is_arithmetic_v<T> && !std::is_same_v<T, bool>) {
          out[std::string{name}] = static_cast<double>(value);
        }
      },
      record);
}

void add_ratios(const RatioStatistics& t, std::map<std::string, double>& out) {
  static constexpr std::array<const char*, 7> names{"min", "p01", "p05", "p50",
                                                    "p95", "p99", "max"};
  for (size_t i = 0; i < names.size(); ++i) {
    out[std::string("ratio_") + names[i]] = t.ratio_quantiles[i];
  }
  for (const auto& [age, bin] : t.by_age) {
    out[fmt::format("lag_{}", age)] = static_cast<double>(bin.tokens);
    out[fmt::format("clip_age_{}", age)] = bin.clip_fraction();
  }
}

}  // namespace

double quantile_of(const std::vector<double>& sorted, double level) {
  if (sorted.empty()) return 0;
  const double at = level * static_cast<double>(sorted.size() - 1);
  const auto low = static_cast<size_t>(at);
  const size_t high = std::min(low + 1, sorted.size() - 1);
  return sorted[low] + (at - static_cast<double>(low)) * (sorted[high] - sorted[low]);
}

RatioStatistics ratio_statistics(const std::vector<TokenSample>& samples) {
  RatioStatistics out;
  out.tokens = static_cast<int64_t>(samples.size());
  describe_ratios(samples, out);
  describe_unlikely(samples, out);
  describe_ages(samples, out);
  describe_mismatch(samples, out);
  describe_critic(samples, out);
  Mean entropy;
  for (const TokenSample& s : samples) entropy.add(s.entropy);
  out.entropy = entropy.value();
  return out;
}

OutcomeStatistics outcome_statistics(const std::deque<TrainingItem>& items) {
  OutcomeStatistics out;
  if (items.empty()) return out;
  for (const TrainingItem& item : items) {
    const Outcome& o = item.outcome;
    out.reward += o.reward;
    ++out.verdicts[std::string(verdict_name(o))];
    out.pass_rate += o.verdict == VerdictClass::passed ? 1 : 0;
    out.faster_eager += is_faster(o.speedup_eager) ? 1 : 0;
    out.faster_compile += is_faster(o.speedup_compile) ? 1 : 0;
    out.truncated += o.truncated ? 1 : 0;
    out.turns += o.turns;
    out.tool_calls += o.tool_calls;
    out.action_tokens += static_cast<double>(item.token_count());
  }
  for (double* mean : {&out.reward, &out.pass_rate, &out.faster_eager, &out.faster_compile,
                       &out.truncated, &out.turns, &out.tool_calls, &out.action_tokens}) {
    *mean /= static_cast<double>(items.size());
  }
  return out;
}

std::map<std::string, double> numbers_of(const StepReport& report) {
  std::map<std::string, double> out;
  add_numbers(report, out);
  add_numbers(report.outcomes, out);
  add_numbers(report.tokens, out);
  add_ratios(report.tokens, out);
  for (const auto& [name, count] : report.outcomes.verdicts) {
    out["verdict." + name] = static_cast<double>(count);
  }
  out["step"] = report.version.step;
  out["trajectories"] = static_cast<double>(report.trained.size());
  if (report.memory_peak_bytes == 0) out.erase("memory_peak_bytes");
  return out;
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
  for (size_t i = 0; i < enum_names<Warning>.size(); ++i) {
    const auto warning = static_cast<Warning>(i);
    const bool shown = shows(warning, report);
    in_a_row_[i] = shown ? in_a_row_[i] + 1 : 0;
    if (in_a_row_[i] >= config_.patience) in_force.push_back(warning);
    const bool of_entropy = warning == Warning::entropy_falls || warning == Warning::entropy_rises;
    entropy_is_odd = entropy_is_odd || (of_entropy && shown);
  }
  ++steps_;
  if (entropy_is_odd)
    return in_force;  // otherwise an unusual entropy would enter the mean that it is compared with
  entropies_.push_back(report.tokens.entropy);
  if (entropies_.size() > window) entropies_.pop_front();
  return in_force;
}

}  // namespace warpsmith::policy
