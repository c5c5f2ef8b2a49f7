// SPDX-License-Identifier: Apache-2.0
// Tokens per second that an engine samples: `bench decode`.
#pragma once

#include <cstdint>

#include "policy/generate/engine/engine.hpp"

namespace warpsmith::policy {

struct DecodeBenchOptions {
  int64_t batch = 32;          // sequences at once
  int64_t prompt_tokens = 64;  // each, random and different
  int64_t new_tokens = 192;    // each
  uint64_t seed = 1;
};

struct DecodeBenchReport {
  int64_t batch = 0;
  int64_t sampled_tokens = 0;
  double prefill_seconds = 0;  // until every sequence has its first token
  double decode_seconds = 0;   // from then on
  double prefill_tokens_per_second = 0;
  double decode_tokens_per_second = 0;
  double tokens_per_second = 0;  // sampled, over the whole time
};

/// The smallest engine with room for the benchmark's sequences.
EngineConfig bench_engine_config(const DecodeBenchOptions& options);

/// Samples at temperature 1 without stop tokens. Prompts are random tokens below `vocab`. The
/// engine has weights and no sessions, and has none afterwards.
Result<DecodeBenchReport> bench_decode(Engine& engine, int64_t vocab,
                                       const DecodeBenchOptions& options);

/// Seconds that sequences wait while an engine loads newer weights: the median of several runs,
/// while `options.batch` sequences decode.
Result<double> bench_swap(Engine& engine, const ModelWeights& weights, int64_t vocab,
                          const DecodeBenchOptions& options);

}  // namespace warpsmith::policy
