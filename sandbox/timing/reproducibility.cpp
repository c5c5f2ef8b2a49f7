// SPDX-License-Identifier: Apache-2.0
#include "sandbox/timing/reproducibility.hpp"

#include <cassert>
#include <cmath>
#include <vector>

#include "sandbox/timing/bootstrap.hpp"

namespace warpsmith::sandbox {

void Reproducibility::add(const std::string& task, std::span<const double> eager,
                          std::span<const double> compiled) {
  assert(!eager.empty() && eager.size() == compiled.size() && "unpaired samples");
  std::vector<double> ratios;
  for (size_t i = 0; i < eager.size(); ++i) ratios.push_back(eager[i] / compiled[i]);
  const double now = std::log(median(ratios));
  if (last_.size() >= most_tasks) last_.clear();
  const auto [entry, fresh] = last_.emplace(task, now);
  if (fresh) return;
  const double step = now - entry->second;
  squares_ = fading * squares_ + step * step / 2;  // a difference varies twice as much
  weight_ = fading * weight_ + 1;
  entry->second = now;
}

double Reproducibility::scatter() const {
  const double known = expected_weight * expected * expected;
  return std::sqrt((known + squares_) / (expected_weight + weight_));
}

}  // namespace warpsmith::sandbox
