// SPDX-License-Identifier: Apache-2.0
// How fast a trainer trains: made-up trajectories of a given shape through observe, close, step.
#pragma once

#include <cstdint>

#include "policy/learn/trainer.hpp"

namespace warpsmith::policy {

struct LearnBenchOptions {
  int64_t trajectories = 32;   // of one step
  int64_t prompt_tokens = 60;  // masked
  int64_t turns = 2;
  int64_t action_tokens = 120;  // per turn
  int64_t result_tokens = 20;   // per turn, masked
  int64_t steps = 2;            // measured, after one that warms up
};

struct LearnBench {
  double seconds = 0;
  double observe_seconds = 0;       // of it, streamed forwards
  double trained_tokens_per_s = 0;  // tokens of trajectories per second, each counted once
  double passes_tokens_per_s = 0;   // tokens of all forward and backward passes per second
  double gflops = 0;  // 6 per parameter and pass token, 2 per streamed one, attention left out
  int64_t parameters = 0;
};

/// Random tokens with log-probabilities of a uniform policy: what is learnt is nonsense, the work
/// is the real one.
LearnBench bench_learn(Trainer& trainer, const LearnBenchOptions& options, uint64_t seed);

}  // namespace warpsmith::policy
