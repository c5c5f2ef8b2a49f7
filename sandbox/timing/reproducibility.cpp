// SPDX-License-Identifier: Apache-2.0
#include "sandbox/timing/reproducibility.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace warpsmith::sandbox {

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
