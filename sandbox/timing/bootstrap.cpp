// SPDX-License-Identifier: Apache-2.0
#include "sandbox/timing/bootstrap.hpp"

#include <algorithm>
#include <cassert>
#include <vector>

namespace warpsmith::sandbox {
namespace {

/// Reorders `values`.
double median_in_place(std::vector<double>& values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return 0.5 * (*middle + *std::max_element(values.begin(), middle));
}

struct Totals {
  double baseline = 0, candidate = 0;
  std::vector<double> ratios;

  void add(double b, double c) {
    baseline += b;
    candidate += c;
    ratios.push_back(b / c);
  }
  double worse() { return std::min(median_in_place(ratios), baseline / candidate); }
  void clear() {
    baseline = candidate = 0;
    ratios.clear();
  }
};

}  // namespace

double median(std::span<const double> values) {
  assert(!values.empty() && "median of nothing");
  std::vector<double> copy(values.begin(), values.end());
  return median_in_place(copy);
}

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
  speedup.interval = {at(0.025), at(0.975)};
  return speedup;
}

}  // namespace warpsmith::sandbox
