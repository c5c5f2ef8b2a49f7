// SPDX-License-Identifier: Apache-2.0
// The engine on a GPU.
#pragma once

#include <memory>

#include "policy/generate/cuda/precision.hpp"
#include "policy/generate/engine/engine.hpp"
#include "policy/model/config.hpp"

namespace warpsmith::policy {

struct CudaEngineOptions {
  int gpu = 0;
  cuda::Precision precision = cuda::Precision::bf16;
  bool graphs = true;  // off: launch every kernel of every step, to compare
};

/// False if this was built without a CUDA toolkit or without FlashInfer's headers.
bool cuda_engine_is_built();

/// An engine that computes on a GPU, without weights yet. It is used and destroyed on this thread.
/// `parse_failed` for an impossible model, `invalid_argument` for an impossible configuration,
/// `unsupported` if it is not built, or without a driver, a GPU or a cuBLAS that fit, `not_found`
/// without that GPU, `capacity` if its memory is too small; the message says what to lower.
Result<std::unique_ptr<Engine>> make_cuda_engine(const ModelConfig& model,
                                                 const EngineConfig& config,
                                                 const CudaEngineOptions& options = {});

}  // namespace warpsmith::policy
