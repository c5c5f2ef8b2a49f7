// SPDX-License-Identifier: Apache-2.0
// Judges one kernel repeatedly, to see how steady its verdict is.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "commands/bench/commit_honesty.hpp"
#include "actors/protocol/messages.hpp"
#include "actors/sandbox/sandbox_backend.hpp"

namespace warpsmith::commands {
using namespace actors;

/// The figures of one verdict.
struct VerdictSample {
  int milestone = -1;  // of the reward: −1, 1, 2 or 3
  double speedup_eager = 0, speedup_compile = 0;
  bool straddles = false;  // an interval contains a milestone: either side would be right
};

struct Repetition {
  std::vector<VerdictSample> verdicts;
  int64_t retries = 0;  // evaluations that failed by noise

  std::map<int, int64_t> milestones() const;  // milestone → count
  /// Verdicts whose milestone is above the most common one, or below it without an interval that
  /// straddles a milestone.
  int64_t unexplained() const;
  double median_speedup_eager() const;
  double median_speedup_compile() const;
};

/// The bar on a kernel's median speed-up over eager: a plan of one library step should take as long
/// as eager.
struct SpeedupBar {
  double expected = 1, within = 0.03;

  Interval range() const { return {expected - within, expected + within}; }
  bool is_met(const Repetition& repetition) const;
};

/// The figures of a timed verdict.
VerdictSample sample_of(const Verdict& verdict);

struct RepeatLoad {
  int64_t times = 20;
  BenchProgress progress = [](const std::string&) {};
  std::function<bool()> stop = [] { return false; };  // called before each evaluation
};

/// Fails at an infrastructure failure; at noise only if it lasts (see `final_verdict`). Returns
/// fewer verdicts than `times` if it was stopped.
Result<Repetition> repeat_verdict(SandboxBackend& backend, const EvaluateCall& call,
                                  const RepeatLoad& load);

}  // namespace warpsmith::commands
