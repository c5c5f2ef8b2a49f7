// SPDX-License-Identifier: Apache-2.0
// [value]: pre-training of the critic on collected trajectories.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "runtime/config/complaints.hpp"
#include "runtime/config/fields.hpp"

namespace warpsmith {

struct ValueConfig {
  std::vector<std::filesystem::path>
      runs;                      // run folders; in a chain by default those collected before
  double lambda = 1.0;           // of the GAE targets (gamma is 1); 1: the trajectory's reward
  int64_t epochs = 8;            // at most
  int64_t batch_tokens = 8'192;  // per optimiser step, prompts and results included
  double learning_rate = 3e-4;
  int64_t warmup = 10;          // steps over which the rate rises linearly
  double held_out_share = 0.1;  // of the trajectories, for the explained variance
  int64_t patience = 20;        // steps without a higher explained variance that end the stage
};

void describe(Fields& fields, ValueConfig& c);

}  // namespace warpsmith
