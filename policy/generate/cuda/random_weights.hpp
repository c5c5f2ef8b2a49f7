// SPDX-License-Identifier: Apache-2.0
// Random weights of a large model, made on a GPU in a moment; for measuring.
#pragma once

#include "policy/model/weights.hpp"

namespace warpsmith::policy {

/// bf16 tensors on that GPU: matrices normal(0, init_std), norms 1, biases 0. Complete on return.
/// Throws if LibTorch has no CUDA or the GPU no room.
ModelWeights random_weights_on(const ModelConfig& config, int gpu);

}  // namespace warpsmith::policy
