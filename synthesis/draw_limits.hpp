// SPDX-License-Identifier: Apache-2.0
// How often the tasks of an evaluation may be drawn.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>

namespace warpsmith::synthesis {

/// Pools that share one draw no more than it allows, so a pool that replaces a lost one goes on
/// with what is left. Thread-safe: the lost one may still run.
class DrawLimits {
 public:
  /// By task; one that is not named is not drawn.
  explicit DrawLimits(std::map<std::string, uint64_t> planned)
      : planned_(std::move(planned)), left_(planned_) {}

  uint64_t planned(const std::string& task_id) const { return count_in(planned_, task_id); }
  uint64_t left(const std::string& task_id) const {
    const std::scoped_lock lock{mutex_};
    return count_in(left_, task_id);
  }
  /// Counts a draw; false if the task's limit is reached.
  bool spend(const std::string& task_id) {
    const std::scoped_lock lock{mutex_};
    if (count_in(left_, task_id) == 0) return false;
    --left_.at(task_id);
    return true;
  }

 private:
  using Counts = std::map<std::string, uint64_t>;
  static uint64_t count_in(const Counts& counts, const std::string& task_id) {
    const auto found = counts.find(task_id);
    return found == counts.end() ? 0 : found->second;
  }

  const Counts planned_;
  mutable std::mutex mutex_;
  Counts left_;
};

}  // namespace warpsmith::synthesis
