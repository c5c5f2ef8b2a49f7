// SPDX-License-Identifier: Apache-2.0
// What all layers of one forward pass over packed sequences share.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "policy/model/config.hpp"
#include "policy/model/rope.hpp"

namespace warpsmith::policy {

struct PackContext {
  ModelConfig config;
  RopeAngles angles;
  std::vector<int64_t> lengths;  // new tokens of each sequence, in order
  at::Tensor bounds;  // (B + 1) int32 on a GPU: where each of B sequences begins, and the end;
                      // undefined on a CPU
};

}  // namespace warpsmith::policy
