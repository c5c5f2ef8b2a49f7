// SPDX-License-Identifier: Apache-2.0
#include "sandbox/timing/speedup.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <vector>

#include "runtime/median.hpp"

namespace warpsmith::sandbox {
namespace {

constexpr double normal_point = 1.96;  // 97.5 %

struct Totals {
  double baseline = 0, candidate = 0;
  std::vector<double> ratios;

  void add(double b, double c) {
    baseline += b;
    candidate += c;
    ratios.push_back(b / c);
  }
  double worse() const { return std::min(median(ratios), baseline / candidate); }
  void clear() {
    baseline = candidate = 0;
    ratios.clear();
  }
};

/// Student's 97.5 % point divided by the normal one, corrected for the bias of a bootstrap of `n`.
double stretch_of(size_t n) {
  constexpr std::array points{12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26, 2.23, 2.20};
  if (n < 2) return 1;
  const double freedom = static_cast<double>(n - 1);
  const double point =
      n - 2 < points.size() ? points[n - 2] : normal_point + 2.4 / freedom;  // within 1 %
  return point / normal_point * std::sqrt(static_cast<double>(n) / freedom);
}

/// Scales the distances on the logarithmic scale, where ratios are symmetric.
Interval stretched(double ratio, const Interval& interval, double factor) {
  return {ratio * std::pow(interval.low / ratio, factor),
          ratio * std::pow(interval.high / ratio, factor)};
}

}  // namespace

Speedup paired_speedup(std::span<const double> baseline, std::span<const double> candidate,
                       RandomStream& random, int rounds) {
  assert(!baseline.empty() && baseline.size() == candidate.size() && "unpaired samples");
  Totals totals;
  for (size_t i = 0; i < baseline.size(); ++i) totals.add(baseline[i], candidate[i]);
  Speedup speedup{.ratio = totals.worse()};
  std::vector<double> draws;
  for (int round = 0; round < rounds; ++round) {
    totals.clear();
    for (size_t i = 0; i < baseline.size(); ++i) {
      const auto pick = static_cast<size_t>(random.below(baseline.size()));
      totals.add(baseline[pick], candidate[pick]);
    }
    draws.push_back(totals.worse());
  }
  std::sort(draws.begin(), draws.end());
  const auto at = [&](double q) {
    return draws[static_cast<size_t>(q * double(draws.size() - 1))];
  };
  const Interval seen{std::min(at(0.025), speedup.ratio), std::max(at(0.975), speedup.ratio)};
  speedup.interval = stretched(speedup.ratio, seen, stretch_of(baseline.size()));
  return speedup;
}

Interval widened(const Speedup& speedup, double scatter) {
  const double between = normal_point * scatter;
  const auto [low, high] = speedup.interval;
  return {speedup.ratio * std::exp(-std::hypot(std::log(speedup.ratio / low), between)),
          speedup.ratio * std::exp(std::hypot(std::log(high / speedup.ratio), between))};
}

void Reproducibility::add(const std::string& task, double time) {
  assert(time > 0 && "a measured time");
  const double now = std::log(time);
  if (last_.size() >= most_tasks) last_.clear();
  const auto [entry, fresh] = last_.emplace(task, now);
  if (fresh) return;
  const double step = std::min(std::fabs(now - entry->second), most_step);
  squares_ = fading * squares_ + step * step / 2;  // a difference has twice the variance
  weight_ = fading * weight_ + 1;
  entry->second = now;
}

double Reproducibility::scatter() const {
  const double known = expected_weight * expected * expected;
  return std::sqrt((known + squares_) / (expected_weight + weight_));
}

}  // namespace warpsmith::sandbox
