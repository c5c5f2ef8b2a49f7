// SPDX-License-Identifier: Apache-2.0
// One kernel judged over and over: how steady is its verdict?
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "actors/commands/bench/commit_honesty.hpp"
#include "actors/protocol/messages.hpp"
#include "actors/sandbox/sandbox_backend.hpp"

namespace warpsmith::actors {

/// What one verdict said.
struct Sighted {
  int milestone = -1;  // of the reward: −1, 1, 2 or 3
  double speedup_eager = 0, speedup_compile = 0;
  bool straddles = false;  // an interval has a milestone inside: either class would be right
};

struct Repetition {
  std::vector<Sighted> verdicts;
  int64_t asked_again = 0;  // evaluations that the machine's noise spoilt

  std::map<int, int64_t> milestones() const;  // milestone → how many
  /// Verdicts that differ from the commonest milestone though no interval of theirs straddles one,
  /// or that earn more than it.
  int64_t unexplained() const;
  double median_speedup_eager() const;
  double median_speedup_compile() const;
};

/// What a kernel's median speed-up over eager is held to: a plan of one library step is to take
/// eager's own time.
struct SpeedupBar {
  double expected = 1, within = 0.03;

  Interval range() const { return {expected - within, expected + within}; }
  bool is_met(const Repetition& repetition) const;
};

/// Of a timed verdict.
Sighted sighted(const Verdict& verdict);

struct RepeatLoad {
  int64_t times = 20;
  BenchProgress progress = [](const std::string&) {};
  std::function<bool()> stop = [] { return false; };  // asked before each evaluation
};

/// A failure that is not the kernel's ends it; noise does only if it goes on (`final_verdict`).
/// Fewer verdicts than asked for: it was stopped.
Result<Repetition> repeat_verdict(SandboxBackend& backend, const EvaluateCall& call,
                                  const RepeatLoad& load);

}  // namespace warpsmith::actors
