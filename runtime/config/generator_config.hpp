// SPDX-License-Identifier: Apache-2.0
// [generator]: the inference engines and their sampling.
#pragma once

#include <chrono>
#include <cstdint>

#include "runtime/config/complaints.hpp"
#include "runtime/config/compute_place.hpp"
#include "runtime/config/fields.hpp"

namespace warpsmith {

struct GeneratorConfig {
  int64_t count = 1;                                    // engines; on a CPU each on one thread
  ComputeDevice device = ComputeDevice::cpu;            // "cpu", "cuda"
  int64_t gpu = 0;                                      // number of the GPU, for "cuda"
  ComputePrecision precision = ComputePrecision::bf16;  // "bf16", "fp32"; for "cuda"
  int64_t step_rows = 0;           // tokens computed per step; 0: 512 on a CPU, 4096 on a GPU
  int64_t max_sessions = 32;       // sequences held at once, per engine
  int64_t max_batch = 32;          // sequences decoded in one step
  int64_t cache_tokens = 262'144;  // size of the key-value cache, per engine
  int64_t chunk_tokens = 16;       // sampled tokens per message to the rollout
  bool prefix_reuse = true;        // sequences share the cache of equal beginnings
  double temperature = 1.0;
  double top_p = 1.0;
  int64_t top_k = 0;                                                 // 0: off
  int64_t max_new_tokens = 4'096;                                    // per turn
  std::chrono::milliseconds pull_timeout{std::chrono::seconds{30}};  // to fetch new weights
};

/// `step_rows` with 0 resolved.
int64_t rows_of_step(const GeneratorConfig& c);

void describe(Fields& fields, GeneratorConfig& c);
void validate(const GeneratorConfig& c, Complaints& complaints);

}  // namespace warpsmith
