// SPDX-License-Identifier: Apache-2.0
// Repeated evaluations of one kernel: until its verdict is not disturbed by noise, and to measure
// how much its verdicts differ.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "actors/protocol/messages.hpp"
#include "actors/sandbox/sandbox_backend.hpp"
#include "commands/bench/bench.hpp"

namespace warpsmith::commands {
using namespace actors;

/// How many evaluations in a row may fail because of noise.
inline constexpr int max_noisy = 4;

struct FinalVerdict {
  Judgement judgement;
  int retries = 0;  // earlier evaluations that failed because of noise
};

/// Judges and times a submission. Repeats an evaluation that fails because of noise; after
/// `max_noisy` of them the last one is the result.
FinalVerdict final_verdict(sandbox::Backend& backend, const Task& task,
                           const Submission& submission);

/// The figures of one verdict.
struct VerdictSample {
  int milestone = -1;  // of the reward: −1, 1, 2 or 3
  double speedup_eager = 0, speedup_compile = 0;
  bool straddles = false;  // an interval contains a milestone: either side would be right
};

struct Repetition {
  std::vector<VerdictSample> verdicts;
  int64_t retries = 0;  // evaluations that failed because of noise

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
Result<Repetition> repeat_verdict(sandbox::Backend& backend, const sandbox::EvaluateRequest& call,
                                  const RepeatLoad& load);

}  // namespace warpsmith::commands
