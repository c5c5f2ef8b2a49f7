// SPDX-License-Identifier: Apache-2.0
// How often the tasks of an evaluation are drawn. Outlives the synthesis, so that its successor
// goes on with what is left.
#pragma once

#include <mutex>
#include <string>
#include <utility>

#include "synthesis/pool.hpp"

namespace warpsmith::actors {

/// Thread-safe: a synthesis that was given up may still run.
class DrawPlan {
 public:
  explicit DrawPlan(synthesis::DrawLimits planned)
      : planned_(std::move(planned)), left_(planned_) {}

  uint64_t planned(const std::string& task_id) const {
    const auto found = planned_.find(task_id);
    return found == planned_.end() ? 0 : found->second;
  }
  synthesis::DrawLimits left() const {
    const std::scoped_lock lock{mutex_};
    return left_;
  }
  void drawn(const std::string& task_id) {
    const std::scoped_lock lock{mutex_};
    const auto found = left_.find(task_id);
    if (found != left_.end() && found->second > 0) --found->second;
  }

 private:
  const synthesis::DrawLimits planned_;
  mutable std::mutex mutex_;
  synthesis::DrawLimits left_;
};

}  // namespace warpsmith::actors
