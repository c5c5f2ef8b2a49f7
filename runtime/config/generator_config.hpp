// SPDX-License-Identifier: Apache-2.0
// [generator]: the inference engines and how they sample.
#pragma once

#include <chrono>
#include <cstdint>

#include "runtime/config/complaints.hpp"
#include "runtime/config/fields.hpp"

namespace warpsmith {

struct GeneratorConfig {
  int64_t count = 1;               // engines, on the processor
  int64_t threads = 1;             // of one engine
  int64_t max_sessions = 32;       // sequences held at once, per engine
  int64_t max_batch = 32;          // sequences decoded in one step
  int64_t cache_tokens = 262'144;  // of the key-value cache, per engine
  int64_t chunk_tokens = 16;       // sampled tokens per message to the rollout
  bool prefix_reuse = true;        // equal beginnings share their cache
  double temperature = 1.0;
  double top_p = 1.0;
  int64_t top_k = 0;                                                 // 0: off
  int64_t max_new_tokens = 4'096;                                    // per turn
  std::chrono::milliseconds pull_timeout{std::chrono::seconds{30}};  // for new weights
};

void describe(Fields& fields, GeneratorConfig& c);
void validate(const GeneratorConfig& c, Complaints& complaints);

}  // namespace warpsmith
