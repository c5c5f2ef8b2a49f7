// SPDX-License-Identifier: Apache-2.0
// Which conversations make up which step of supervised fine-tuning. Pure.
#pragma once

#include <cstdint>
#include <vector>

namespace warpsmith::policy {

/// Indices of conversations that share one optimiser step.
using SftBatch = std::vector<size_t>;

struct SftPlan {
  std::vector<size_t> held_out;   // never trained
  std::vector<SftBatch> batches;  // of all epochs, in order
};

struct SftPlanOptions {
  uint64_t seed = 0;
  int64_t epochs = 1;
  int64_t batch_tokens = 8192;
  double held_out_share = 0.0;
};

/// Shuffles anew in each epoch and fills batches up to `batch_tokens`; a longer conversation makes
/// a batch alone. The same sizes and options give the same plan, so a step number is a position.
SftPlan plan_sft(const std::vector<int64_t>& sizes, const SftPlanOptions& options);

/// Linear rise over `warmup` steps, then half a cosine from 1 to `floor` at the last step.
double cosine_share(int64_t step, int64_t steps, int64_t warmup, double floor);

}  // namespace warpsmith::policy
