// SPDX-License-Identifier: Apache-2.0
// Assigns conversations to the optimiser steps of supervised fine-tuning. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace warpsmith::policy {

/// Indices of the conversations of one optimiser step.
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

/// Shuffles in each epoch and fills batches up to `batch_tokens`; a longer conversation is a batch
/// of its own. The same sizes and options give the same plan, so a resume needs the step only.
SftPlan plan_sft(const std::vector<int64_t>& sizes, const SftPlanOptions& options);

/// Share of the learning rate: rises linearly over `warmup` steps, then falls along half a cosine
/// from 1 to `floor` at the last step.
double cosine_share(int64_t step, int64_t steps, int64_t warmup, double floor);

}  // namespace warpsmith::policy
