// SPDX-License-Identifier: Apache-2.0
// Tokens per second that the engine samples on a CPU: `bench decode`.
#pragma once

#include <cstdint>

#include "policy/model/transformer.hpp"
#include "runtime/result.hpp"

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
};

/// Samples at temperature 1 without stop tokens, on one thread. Prompts are random.
Result<DecodeBenchReport> bench_decode(const Transformer& model, const DecodeBenchOptions& options);

}  // namespace warpsmith::policy
