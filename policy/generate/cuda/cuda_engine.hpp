// SPDX-License-Identifier: Apache-2.0
// The engine on a GPU, and the speed of that GPU's memory.
#pragma once

#include <memory>

#include "policy/generate/cuda/device_types.hpp"
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

/// An engine that computes on a GPU, without weights yet. Use and destroy it on this thread.
/// `parse_failed` for an impossible model, `invalid_argument` for an impossible configuration,
/// `unsupported` if it is not built, or without a driver, a GPU or a cuBLAS that fit, `not_found`
/// without that GPU, `capacity` if its memory is too small; the message says what to lower.
Result<std::unique_ptr<Engine>> make_cuda_engine(const ModelConfig& model,
                                                 const EngineConfig& config,
                                                 const CudaEngineOptions& options = {});

/// Bytes per second, read plus written, of a large copy within a GPU's memory: the median of
/// several. The errors of `make_cuda_engine`.
Result<double> copy_bandwidth(int gpu);

}  // namespace warpsmith::policy
