// SPDX-License-Identifier: Apache-2.0
// Assigns the examples of a stage (SFT, value pre-training) to optimiser steps. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace warpsmith::policy {

/// Indices of the examples of one optimiser step.
using BatchIndices = std::vector<size_t>;

struct BatchPlan {
  std::vector<size_t> held_out;       // never trained
  std::vector<BatchIndices> batches;  // of all epochs, in order
};

struct BatchPlanOptions {
  uint64_t seed = 0;
  int64_t epochs = 1;
  int64_t batch_tokens = 8192;
  double held_out_share = 0.0;
};

/// Shuffles in each epoch and fills batches up to `batch_tokens`; a longer example is a separate
/// batch. The same sizes and options produce the same plan, so a resume needs only the step.
BatchPlan plan_batches(const std::vector<int64_t>& sizes, const BatchPlanOptions& options);

/// Share of the learning rate: rises linearly over `warmup` steps, then falls along half a cosine
/// from 1 to `floor` at the last step.
double cosine_share(int64_t step, int64_t steps, int64_t warmup, double floor);

}  // namespace warpsmith::policy
