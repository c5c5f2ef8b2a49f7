// SPDX-License-Identifier: Apache-2.0
// Replaces the engine on a GPU if its build requirements are not met: every call is refused.
#include "policy/generate/cuda/cuda_engine.hpp"

namespace warpsmith::policy {
namespace {

tl::unexpected<Error> refusal() {
  return fail(
      ErrorCode::unsupported,
      "engine on a GPU: built without a CUDA toolkit with cuBLAS's headers, or without "
      "FlashInfer's headers: install nvcc, run ./warpsmith build, and read the configuration log "
      "in build/dev.configure.log");
}

}  // namespace

bool cuda_engine_is_built() {
  return false;
}

Result<std::unique_ptr<Engine>> make_cuda_engine(const ModelConfig&, const EngineConfig&,
                                                 const CudaEngineOptions&) {
  return refusal();
}

Result<double> copy_bandwidth(int) {
  return refusal();
}

}  // namespace warpsmith::policy
