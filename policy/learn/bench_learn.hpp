// SPDX-License-Identifier: Apache-2.0
// The speed of a trainer: synthetic trajectories through observe, close and advance.
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
  double observe_seconds = 0;       // of `seconds`, in streamed forwards
  double trained_tokens_per_s = 0;  // tokens of trajectories per second, each counted once
  double passes_tokens_per_s = 0;   // tokens of all forward and backward passes per second
  double gflops = 0;  // 6 per parameter and pass token, 2 per streamed one, attention left out
  int64_t parameters = 0;
};

/// Trains on random tokens with the log-probabilities of a uniform policy.
LearnBench bench_learn(Trainer& trainer, const LearnBenchOptions& options, uint64_t seed);

}  // namespace warpsmith::policy
