// SPDX-License-Identifier: Apache-2.0
// The baselines that a task is timed against, besides eager: which exist, which a task has left.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/describe.hpp"
#include "runtime/result.hpp"

namespace warpsmith::sandbox {

/// Every timed evaluation has `compiled`. The others are further baselines: no reward depends on
/// them.
enum class Baseline : uint8_t {
  compiled,  // torch.compile with its defaults
  tuned,     // torch.compile, mode max-autotune
  graphed,   // eager as a CUDA graph; GPUs only
};

/// "torch.compile", "max-autotune", "cuda-graph": in configuration, records and verdicts.
constexpr auto names_of(Baseline) {
  return std::to_array<std::string_view>({"torch.compile", "max-autotune", "cuda-graph"});
}

/// The further baselines with these names, each once, in the order of the enumeration.
/// `invalid_argument` names an unknown one.
Result<std::vector<Baseline>> further_baselines_named(const std::vector<std::string>& names);

/// The further baselines of one task, and why it lacks some. A task is judged without those.
class FurtherBaselines {
 public:
  FurtherBaselines() = default;
  explicit FurtherBaselines(std::vector<Baseline> wanted) : wanted_(std::move(wanted)) {}

  const std::vector<Baseline>& wanted() const { return wanted_; }
  bool has(Baseline which) const;
  /// Wanted and not dropped, in the order of the enumeration.
  std::vector<Baseline> left() const;
  /// Drops a baseline from now on. The first reason is kept.
  void drop(Baseline which, std::string reason);
  /// Counts a worker that ended while the baseline was made ready or called. The second time drops
  /// the baseline; the first may be chance.
  void worker_ended(Baseline which, const std::string& reason);
  /// Why it was dropped; empty if it was not.
  std::string reason(Baseline which) const;

 private:
  std::vector<Baseline> wanted_;
  std::map<Baseline, std::string> dropped_;
  std::map<Baseline, int> ended_;
};

}  // namespace warpsmith::sandbox
