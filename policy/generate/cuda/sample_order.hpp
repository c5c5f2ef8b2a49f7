// SPDX-License-Identifier: Apache-2.0
// What the host asks of the sampler on a device, and its answer. Pure.
#pragma once

#include <cstdint>

namespace warpsmith::policy::cuda {

/// How one token is sampled.
struct SampleOrder {
  double uniform = 0;             // in [0, 1)
  float inverse_temperature = 1;  // 1 for greedy sampling
  float top_p = 1;
  int32_t top_k = 0;  // 0: all
  int32_t greedy = 0;
};

/// One sampled token; see SampledToken.
struct DeviceSample {
  int32_t token = 0;
  float log_prob = 0;
  float sampled_log_prob = 0;
};

}  // namespace warpsmith::policy::cuda
