// SPDX-License-Identifier: Apache-2.0
// [generator]: the inference engines and their sampling.
#pragma once

#include <chrono>
#include <cstdint>

#include "runtime/config/complaints.hpp"
#include "runtime/config/fields.hpp"

namespace warpsmith {

struct GeneratorConfig {
  int64_t count = 1;               // engines on the CPU
  int64_t threads = 1;             // per engine
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

void describe(Fields& fields, GeneratorConfig& c);
void validate(const GeneratorConfig& c, Complaints& complaints);

}  // namespace warpsmith
