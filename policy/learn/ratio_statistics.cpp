// SPDX-License-Identifier: Apache-2.0
#include "policy/learn/ratio_statistics.hpp"

#include <algorithm>
#include <cmath>

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

/// Fills what concerns π/μ of the trained tokens: quantiles, effective sample size, k3.
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
  out.mean_lag = lag.value();
}

void describe_mismatch(const std::vector<TokenSample>& samples, RatioStatistics& out) {
  Mean gap;
  for (const TokenSample& s : samples) {
    if (!s.same_weights) continue;
    const double distance = std::abs(double{s.proximal} - double{s.behaviour});
    gap.add(distance);
    out.mismatch_max = std::max(out.mismatch_max, distance);
  }
  out.same_weights_tokens = gap.count;
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

}  // namespace warpsmith::policy
